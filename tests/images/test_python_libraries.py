"""Each library that the image `python` promises does a small real thing in a jail, without a word on
stderr: nothing of it misses a data directory, a home to write to, or the network."""

import json
import os
import pathlib
import re
import subprocess
import textwrap

import pytest

from support.images import user_images
from support.sample import in_gate

RUN_SECONDS_MAX = 120  # generous: a busy machine
NOTES = "Not kept, without --files-dir", "Not listed: the files of .pytest_cache/"

# The library, and a snippet that prints "ok" at its end.
OF_DEBIAN = {
    "numpy": """
        import numpy
        print("ok" if numpy.linalg.det(numpy.eye(3)) == 1 else "")
        """,
    "pandas": """
        import pandas
        frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        print("ok" if frame.groupby("b").a.sum()["y"] == 2 else "")
        """,
    "scipy": """
        from scipy import optimize, stats
        assert abs(optimize.brentq(lambda x: x * x - 2, 0, 2) ** 2 - 2) < 1e-9
        print("ok" if stats.norm.cdf(0) == 0.5 else "")
        """,
    "scikit-learn": """
        import sklearn.datasets
        from sklearn.linear_model import LogisticRegression
        X, y = sklearn.datasets.load_iris(return_X_y=True)
        print("ok" if LogisticRegression(max_iter=500).fit(X, y).score(X, y) > 0.9 else "")
        """,
    "statsmodels": """
        import numpy, pandas
        import statsmodels.api as sm, statsmodels.formula.api as smf
        from statsmodels.tsa.arima.model import ARIMA
        from statsmodels.stats.multicomp import pairwise_tukeyhsd
        x = numpy.arange(50.0)
        noise = numpy.random.default_rng(1).normal(0, 0.1, 50)
        fit = sm.OLS(3 * x + 1 + noise, sm.add_constant(x)).fit()
        assert abs(fit.params[1] - 3) < 0.01 and "R-squared" in str(fit.summary())
        data = pandas.DataFrame({"y": 2 * x, "x": x})
        assert abs(smf.ols("y ~ x", data).fit().params["x"] - 2) < 1e-6
        assert len(ARIMA(noise, order=(1, 0, 0)).fit().forecast(3)) == 3
        pairwise_tukeyhsd(noise, x > 25)
        print("ok")
        """,
    "networkx": """
        import networkx
        graph = networkx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])
        assert networkx.shortest_path(graph, "a", "c") in (["a", "b", "c"], ["a", "d", "c"])
        networkx.pagerank(graph)
        import matplotlib.pyplot as plt
        networkx.draw(graph, with_labels=True)
        plt.savefig("graph.png")
        print("ok")
        """,
    "sympy": """
        import sympy
        x = sympy.symbols("x")
        print("ok" if sympy.solve(x ** 2 - 4) == [-2, 2] else "")
        """,
    "shapely": """
        from shapely.geometry import Point, Polygon
        print("ok" if Polygon([(0, 0), (2, 0), (2, 2), (0, 2)]).contains(Point(1, 1)) else "")
        """,
    "numexpr": """
        import numexpr, numpy
        a = numpy.arange(9)
        print("ok" if numexpr.evaluate("2 * a + 1")[4] == 9 else "")
        """,
    "bottleneck": """
        import bottleneck
        print("ok" if bottleneck.nanmean([1.0, float("nan"), 3.0]) == 2 else "")
        """,
    "matplotlib": """
        import os
        import matplotlib.pyplot as plt
        plt.plot([1, 4, 9])
        plt.title("$x^2$ in ä")
        plt.savefig("plot.png"); plt.savefig("plot.pdf"); plt.savefig("plot.svg")
        print("ok" if os.path.getsize("plot.png") > 5000 else "")
        """,
    "seaborn": """
        import pandas, seaborn
        seaborn.set_theme()
        frame = pandas.DataFrame({"x": [1, 2, 3, 4], "y": [1, 3, 2, 5], "kind": list("aabb")})
        seaborn.scatterplot(frame, x="x", y="y", hue="kind").figure.savefig("scatter.png")
        seaborn.heatmap(frame[["x", "y"]].corr(), annot=True).figure.savefig("heat.png")
        seaborn.catplot(frame, x="kind", y="y", kind="violin").savefig("violin.png")
        print("ok")
        """,
    "matplotlib-venn": """
        import matplotlib.pyplot as plt
        from matplotlib_venn import venn2
        venn2([{1, 2, 3}, {2, 3, 4}])
        plt.savefig("venn.png")
        print("ok")
        """,
    "wordcloud": """
        from wordcloud import WordCloud
        image = WordCloud().generate("one two two three three three").to_image()
        image.save("cloud.png")
        print("ok" if len(set(image.getdata())) > 10 else "")
        """,
    "folium": """
        import folium
        places = folium.Map(location=[52.5, 13.4])
        folium.Marker([52.5, 13.4], popup="Berlin").add_to(places)
        places.save("map.html")
        print("ok" if "Berlin" in open("map.html").read() else "")
        """,
    "qrcode": """
        import qrcode
        qrcode.make("https://example.org").save("code.png")
        print("ok")
        """,
    "pillow": """
        from PIL import Image, ImageDraw, ImageFont
        image = Image.new("RGB", (80, 40))
        ImageDraw.Draw(image).text((4, 4), "text", font=ImageFont.load_default())
        for name in ("a.png", "a.jpg", "a.webp", "a.gif"):
            image.save(name)
            assert Image.open(name).size == (80, 40)
        print("ok")
        """,
    "openpyxl": """
        import openpyxl, pandas
        book = openpyxl.Workbook()
        book.active.append(["name", "value"])
        book.active.append(["one", 1])
        book.save("book.xlsx")
        assert openpyxl.load_workbook("book.xlsx").active["B2"].value == 1
        print("ok" if pandas.read_excel("book.xlsx").value[0] == 1 else "")
        """,
    "xlsxwriter": """
        import pandas
        with pandas.ExcelWriter("book.xlsx", engine="xlsxwriter") as writer:
            pandas.DataFrame({"a": [1]}).to_excel(writer, sheet_name="one", index=False)
        print("ok" if pandas.read_excel("book.xlsx", sheet_name="one").a[0] == 1 else "")
        """,
    "xlrd": """
        import pandas, xlwt
        book = xlwt.Workbook()
        sheet = book.add_sheet("one")
        sheet.write(0, 0, "a"); sheet.write(1, 0, 5)
        book.save("book.xls")
        print("ok" if pandas.read_excel("book.xls").a[0] == 5 else "")
        """,
    "odfpy": """
        import pandas
        pandas.DataFrame({"a": [7]}).to_excel("book.ods", index=False)
        print("ok" if pandas.read_excel("book.ods").a[0] == 7 else "")
        """,
    "python-docx": """
        import docx
        document = docx.Document()
        document.add_heading("Report")
        document.add_table(rows=1, cols=2).cell(0, 0).text = "cell"
        document.save("report.docx")
        print("ok" if docx.Document("report.docx").paragraphs[0].text == "Report" else "")
        """,
    "reportlab": """
        from pypdf import PdfReader
        from reportlab.lib.styles import getSampleStyleSheet
        from reportlab.platypus import Paragraph, SimpleDocTemplate, Table
        parts = [Paragraph("Quarterly report", getSampleStyleSheet()["Title"]), Table([["a", 1]])]
        SimpleDocTemplate("report.pdf").build(parts)
        print("ok" if "Quarterly" in PdfReader("report.pdf").pages[0].extract_text() else "")
        """,
    "pypdf": """
        from pypdf import PdfReader, PdfWriter
        writer = PdfWriter()
        writer.add_blank_page(100, 100)
        writer.encrypt("secret", algorithm="AES-256")
        writer.write("blank.pdf")
        reader = PdfReader("blank.pdf", password="secret")
        print("ok" if len(reader.pages) == 1 else "")
        """,
    "pyyaml": """
        import yaml
        print("ok" if yaml.safe_load("a: [1, 2]") == {"a": [1, 2]} else "")
        """,
    "xmltodict": """
        import xmltodict
        print("ok" if xmltodict.parse("<a><b>1</b></a>")["a"]["b"] == "1" else "")
        """,
    "simplejson": """
        import simplejson
        print("ok" if simplejson.loads(simplejson.dumps({"a": 1})) == {"a": 1} else "")
        """,
    "jsonschema": """
        import jsonschema
        jsonschema.validate({"a": 1}, {"type": "object", "required": ["a"]})
        try:
            jsonschema.validate({}, {"type": "object", "required": ["a"]})
        except jsonschema.ValidationError:
            print("ok")
        """,
    "beautifulsoup4": """
        from bs4 import BeautifulSoup
        for parser in ("html.parser", "lxml", "html5lib"):
            assert BeautifulSoup("<p class=x>Hi", parser).select_one("p.x").text == "Hi"
        print("ok")
        """,
    "lxml": """
        import io, pandas
        from lxml import etree, html
        assert etree.XML("<a><b>1</b></a>").xpath("//b/text()") == ["1"]
        page = "<table><tr><th>a</th></tr><tr><td>3</td></tr></table>"
        assert html.fromstring(page).xpath("//td")[0].text == "3"
        print("ok" if pandas.read_html(io.StringIO(page))[0].a[0] == 3 else "")
        """,
    "pyquery": """
        from pyquery import PyQuery
        print("ok" if PyQuery("<div><p>one</p></div>")("p").text() == "one" else "")
        """,
    "jinja2": """
        import jinja2, pandas
        assert pandas.DataFrame({"a": [1]}).style.to_html()
        print(jinja2.Template("{{ word }}").render(word="ok"))
        """,
    "markdown": """
        import markdown
        html = markdown.markdown("# One\\n\\n|a|\\n|-|\\n|b|", extensions=["tables"])
        print("ok" if "<h1>One</h1>" in html and "<table>" in html else "")
        """,
    "regex": """
        import regex
        print("ok" if regex.findall(r"\\p{Lu}", "aÄb") == ["Ä"] else "")
        """,
    "tabulate": """
        import pandas, tabulate
        assert "| 1 |" in tabulate.tabulate([[1]], tablefmt="github")
        print("ok" if "|" in pandas.DataFrame({"a": [1]}).to_markdown() else "")
        """,
    "prettytable": """
        from prettytable import PrettyTable
        table = PrettyTable(["a"])
        table.add_row([1])
        print("ok" if "| 1 |" in str(table) else "")
        """,
    "texttable": """
        from texttable import Texttable
        print("ok" if "| a |" in Texttable().add_rows([["a"], [1]]).draw() else "")
        """,
    "natsort": """
        from natsort import natsorted
        print("ok" if natsorted(["a10", "a2"]) == ["a2", "a10"] else "")
        """,
    "requests": """
        import requests
        print("ok" if requests.Request("GET", "http://x/", params={"a": 1}).prepare().url
              == "http://x/?a=1" else "")
        """,
    "requests-mock": """
        import requests, requests_mock
        with requests_mock.Mocker() as mocker:
            mocker.get("http://example.org/", json={"a": 1})
            print("ok" if requests.get("http://example.org/").json() == {"a": 1} else "")
        """,
    "flask": """
        import flask, flask_login, flask_mail, flask_restful, flask_wtf, wtforms
        class Hello(flask_restful.Resource):
            def get(self):
                return {"hello": "world"}
        class Form(flask_wtf.FlaskForm):
            name = wtforms.StringField("name", [wtforms.validators.DataRequired()])
        application = flask.Flask(__name__)
        application.config.update(SECRET_KEY="key", WTF_CSRF_ENABLED=False, TESTING=True)
        flask_restful.Api(application).add_resource(Hello, "/hello")
        flask_login.LoginManager(application)
        mail = flask_mail.Mail(application)
        assert application.test_client().get("/hello").json == {"hello": "world"}
        with application.test_request_context(method="POST", data={"name": "x"}):
            assert Form().validate()
            with mail.record_messages() as outbox:
                mail.send_message("subject", sender="a@example.org", recipients=["b@example.org"])
            assert len(outbox) == 1
        print("ok")
        """,
    "geopy": """
        from geopy.distance import geodesic
        print("ok" if 5500 < geodesic((40.7, -74.0), (51.5, -0.1)).km < 5600 else "")
        """,
    "cryptography": """
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives.asymmetric import ed25519
        key = ed25519.Ed25519PrivateKey.generate()
        key.public_key().verify(key.sign(b"text"), b"text")
        box = Fernet(Fernet.generate_key())
        print("ok" if box.decrypt(box.encrypt(b"text")) == b"text" else "")
        """,
    "rsa": """
        import rsa
        public, private = rsa.newkeys(512)
        print("ok" if rsa.decrypt(rsa.encrypt(b"text", public), private) == b"text" else "")
        """,
    "pytest": """
        import pathlib, subprocess, sys
        pathlib.Path("test_it.py").write_text("def test_right(tmp_path):\\n    assert 1 == 1\\n"
                                              "def test_wrong():\\n    assert [1] == [2]\\n")
        done = subprocess.run([sys.executable, "-m", "pytest"], capture_output=True, text=True)
        assert done.returncode == 1 and "assert [1] == [2]" in done.stdout, done.stdout
        print("ok" if "1 failed, 1 passed" in done.stdout and "warning" not in done.stdout else "")
        """,
    "psutil": """
        import os, psutil
        own = psutil.Process()
        assert own.pid == os.getpid() and own.memory_info().rss > 1 << 20
        assert own.pid in [process.pid for process in psutil.process_iter()]
        psutil.cpu_count(), psutil.cpu_percent(), psutil.disk_usage("/"), psutil.swap_memory()
        print("ok" if psutil.virtual_memory().total > 0 else "")
        """,
    "tqdm": """
        import sys
        from tqdm import tqdm
        print("ok" if sum(tqdm(range(4), file=sys.stdout)) == 6 else "")
        """,
    "pytz": """
        import datetime, pytz, dateutil.parser
        moment = dateutil.parser.parse("2026-07-01 12:00")
        offset = pytz.timezone("Europe/Berlin").localize(moment).utcoffset()
        print("ok" if offset == datetime.timedelta(hours=2) else "")
        """,
    "pip": """
        import subprocess, sys
        listed = subprocess.check_output([sys.executable, "-m", "pip", "list"], text=True)
        print("ok" if "numpy" in listed and "pandas" in listed else "")
        """,
}
# These must have been reachable when the image was made; `fetch --force python` makes it anew.
OF_PIP = {
    "google-genai": """
        from google import genai
        client = genai.Client(api_key="none")
        print("ok" if genai.types.Part.from_text(text="x").text == "x" else "")
        """,
    "plotly": """
        import plotly.express, plotly.graph_objects
        figure = plotly.express.scatter(x=[1, 2], y=[3, 4], title="two points")
        figure.add_trace(plotly.graph_objects.Bar(x=[1], y=[2]))
        figure.write_html("figure.html")
        page = open("figure.html").read()
        print("ok" if "two points" in page and len(page) > 1_000_000 else "")
        """,
    "python-pptx": """
        import pptx
        slides = pptx.Presentation()
        slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = "Title"
        slides.save("slides.pptx")
        print("ok" if pptx.Presentation("slides.pptx").slides[0].shapes.title.text == "Title" else "")
        """,
}


@pytest.fixture
def run(server_path):
    """Runs a snippet in the image."""
    if not (user_images() / "python" / "image.json").exists():
        pytest.skip("the image python is not there: code-sandbox-mcp fetch python")

    def run_code(code):
        return subprocess.run(
            [server_path, "run", "--language", "python", "--timeout", str(RUN_SECONDS_MAX), "-"],
            input=code, text=True, capture_output=True, check=False, timeout=RUN_SECONDS_MAX + 10,
            env={**os.environ, "CONTAINER_IMAGE": "python", "CONTAINER_LANGUAGE": "python"})
    return run_code


@pytest.mark.parametrize("library", in_gate([*OF_DEBIAN, *OF_PIP], 8))
def test_library_works_without_a_word(run, library):
    done = run(textwrap.dedent((OF_DEBIAN | OF_PIP)[library]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1:] == ["ok"], done.stdout
    assert [line for line in done.stderr.splitlines() if not any(note in line for note in NOTES)] == []


def plain(name):
    """As the index of packages compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_image_has_what_its_document_lists_and_no_more(run):
    document = pathlib.Path(__file__).parents[2] / "docs" / "packages.md"
    rows = re.findall(r"^\| ([\w-]+)[^|]* \| (.+) \|$", document.read_text(), re.M)[1:]
    # Some of Debian's have no record.
    done = run("import importlib.metadata, json, pkgutil\n"
               "names = [one.name for one in importlib.metadata.distributions()]\n"
               "modules = pkgutil.iter_modules(['/usr/lib/python3/dist-packages'])\n"
               "print(json.dumps(names + [one.name for one in modules]))")
    there = {plain(name) for name in json.loads(done.stdout)}
    listed = {plain(name): where.startswith("image") for name, where in rows}
    assert len(listed) > 100
    assert [name for name, is_there in listed.items() if is_there != (name in there)] == []
    assert {plain(name) for name in OF_DEBIAN if name != "pip"} \
        <= {name for name, is_there in listed.items() if is_there}
