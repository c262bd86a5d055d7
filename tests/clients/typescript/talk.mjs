// One conversation with the server through an official TypeScript client:
// talk.mjs (v1|v2) SERVER. Prints the round trips of ping in ms as JSON; fails on a wrong answer.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const [, , version, server] = process.argv;
const sdk =
  version === "v1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client } = await import(version === "v1" ? `${sdk}/index.js` : sdk);
const { StdioClientTransport } = await import(version === "v1" ? `${sdk}/stdio.js` : `${sdk}/stdio`);

// The library hands the server few variables; the image store is one that the tests may set.
const store = process.env.XDG_DATA_HOME;
const client = new Client({ name: "talk", version: "1.0.0" });
await client.connect(
  new StdioClientTransport({ command: server, env: store ? { XDG_DATA_HOME: store } : {} }),
);

async function call(name, code) {
  const result = await client.callTool({ name, arguments: { code } });
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content[0].text;
}

const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name).filter((name) => name !== "run_bash_code");
assert.deepEqual(names.sort(), [
  "run_javascript_code",
  "run_python_code",
]);
const { resources } = await client.listResources();
assert.deepEqual(
  resources.map((resource) => resource.uri),
  ["sandbox://environments", "sandbox://sessions"],
);
const { contents } = await client.readResource({ uri: "sandbox://environments" });
assert.match(contents[0].text, /python/);

const snippets = JSON.parse(readFileSync(new URL("snippets.json", import.meta.url), "utf8"));
for (const { name, tool, code, text, contains } of snippets) {
  const answer = await call(tool, code);
  if (text !== undefined) assert.equal(answer, text, name);
  for (const part of contains ?? []) assert.ok(answer.includes(part), `${name}: ${answer}`);
}

// Figures, files in and out, and in which order all of it comes.
const cases = JSON.parse(readFileSync(new URL("returned.json", import.meta.url), "utf8"));
for (const expected of cases) {
  const { content, _meta } = await client.callTool({
    name: expected.tool,
    arguments: expected.arguments,
  });
  const message = `${expected.name}: ${JSON.stringify(content).slice(0, 2000)}`;
  assert.deepEqual(
    content.map((block) => block.type),
    expected.content.map((block) => block.type),
    message,
  );
  expected.content.forEach(({ text, contains, width, height }, position) => {
    const block = content[position];
    if (text !== undefined) assert.equal(block.text, text, message);
    for (const part of contains ?? []) assert.ok(block.text.includes(part), message);
    if (width === undefined) return;
    const png = Buffer.from(block.data, "base64");
    assert.equal(block.mimeType, "image/png", message);
    assert.equal(png.toString("latin1", 1, 4), "PNG", message);
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [width, height], message);
  });
  const links = content.filter((block) => block.type === "resource_link");
  assert.equal(links.length, expected.files.length, message);
  for (const { name, base64 } of expected.files) {
    const { uri } = _meta["code-sandbox/result"].files.find((file) => file.name === name);
    assert.equal(links.find((link) => link.name === name).uri, uri, message);
    const read = (await client.readResource({ uri })).contents;
    assert.equal(read.length, 1, message);
    const bytes = Buffer.from(read[0].text ?? read[0].blob, "text" in read[0] ? "utf8" : "base64");
    assert.equal(bytes.toString("base64"), base64, message);
  }
}

// Sessions: state stays, is said to be lost when it is, and the list of tools never changes.
const sessions = JSON.parse(readFileSync(new URL("sessions.json", import.meta.url), "utf8"));
for (const { tool, other_tool, steps } of sessions) {
  let handle = "new";
  for (const { code, timeout_seconds, error, text, contains } of steps) {
    const result = await client.callTool({
      name: tool,
      arguments: { code, session: handle, ...(timeout_seconds && { timeout_seconds }) },
    });
    const texts = result.content.filter((block) => block.type === "text").map((block) => block.text);
    const message = JSON.stringify([code, texts]);
    assert.equal(Boolean(result.isError), Boolean(error), message);
    if (text !== undefined) assert.equal(texts[0], text, message);
    for (const part of contains ?? []) assert.ok(texts.some((one) => one.includes(part)), message);
    if (handle !== "new") continue;
    handle = texts.at(-1).match(/^\[session (\S+): /m)[1];
    const wrong = await client.callTool({ name: other_tool, arguments: { code: "1", session: handle } });
    assert.ok(wrong.isError && wrong.content[0].text.includes("on which this session runs, has no "), wrong.content[0].text);
  }
}
assert.deepEqual((await client.listTools()).tools, tools);

// Methods for programs: docs/programs.md.
const schema =
  version === "v1"
    ? (await import("@modelcontextprotocol/sdk/types.js")).ResultSchema
    : { "~standard": { version: 1, vendor: "talk", validate: (value) => ({ value }) } };
const ask = (name, params) => client.request({ method: `code-sandbox/${name}`, params }, schema);
const { session, languages } = await ask("open", {});
assert.ok(languages.includes("python") && /^s-\w+$/.test(session), session);
await ask("write", { session, path: "d/in.csv", text: "1,2\n3,é\n" });
const done = await ask("exec", { session, shell: "wc -l <d/in.csv; cat; exit 3", stdin: "in" });
assert.deepEqual([done.outcome, done.exit_code, done.stdout], ["exited", 3, "2\nin"]);
const cell = await ask("cell", { session, language: "python", code: "x = open('d/in.csv').read()\nlen(x)" });
assert.deepEqual([cell.structuredContent.stdout, cell.structuredContent.value_bytes], ["8", 1]);
const { base64 } = await ask("read", { session, path: "d/in.csv" });
assert.equal(Buffer.from(base64, "base64").toString(), "1,2\n3,é\n");
assert.deepEqual((await ask("list", { session, path: "d" })).entries.map(({ name }) => name), ["in.csv"]);
await assert.rejects(ask("read", { session, path: "none" }), ({ data }) => data.id === "no_such_file");
await assert.rejects(ask("exec", { session, argv: [] }), ({ code }) => code === -32602);
await ask("close", { session });
await assert.rejects(ask("stat", { session, path: "d" }), ({ data }) => data.id === "lost");

// Twenty calls in flight at once, each with its own answer.
const numbers = Array.from({ length: 20 }, (_, number) => number);
const squares = await Promise.all(
  numbers.map((number) =>
    number % 2
      ? call("run_javascript_code", `console.log(${number} ** 2)`)
      : call("run_python_code", `print(${number} ** 2)`),
  ),
);
assert.deepEqual(
  squares,
  numbers.map((number) => String(number ** 2)),
);

// Pings while a snippet of five seconds runs.
let over = false;
const long = call("run_python_code", "import time; time.sleep(5); print('slept')");
long.finally(() => (over = true));
const pings = [];
while (pings.length < 20) {
  await new Promise((done) => setTimeout(done, 100));
  const begin = performance.now();
  await client.ping();
  if (over) break; // on a machine that is very busy
  pings.push(performance.now() - begin);
}
assert.ok(pings.length >= 3, "the pings were meant to be answered while the snippet ran");
assert.equal(await long, "slept");
await client.close();
console.log(JSON.stringify(pings));
