#include "images/base/manifest.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
#define DIGEST(digit) "\"digest\":\"sha256:" HEX #digit "\""
#define OCI "application/vnd.oci.image."
#define ENTRY(digit, platform)                                                                     \
    "{\"mediaType\":\"" OCI                                                                        \
    "manifest.v1+json\",\"size\":7," DIGEST(digit) ",\"platform\":{" platform "}}"
#define INDEX(entries) "{\"schemaVersion\":2,\"manifests\":[" entries "]}"
#define CONFIG "\"config\":{\"mediaType\":\"" OCI "config.v1+json\",\"size\":3," DIGEST(a) "}"
#define LAYER(digit, type, size) "{\"mediaType\":\"" type "\",\"size\":" size "," DIGEST(digit) "}"
#define MANIFEST(layers) "{\"schemaVersion\":2," CONFIG ",\"layers\":[" layers "]}"
#define GZIP OCI "layer.v1.tar+gzip"

static const struct platform amd64 = {"linux", "amd64", NULL};
static const struct platform arm64 = {"linux", "arm64", "v8"};

static void index_leads_to_the_platform(void **state)
{
    (void)state;
    static const char json[] = INDEX(
        ENTRY(1, "\"os\":\"windows\",\"architecture\":\"amd64\"") "," ENTRY(2, "\"os\":\"linux\",\"architecture\":\"amd64\",\"variant\":\"v3\"") "," ENTRY(3, "\"os\":\"linux\",\"architecture\":\"amd64\"") "," ENTRY(
            4,
            "\"os\":\"linux\",\"architecture\":\"arm64\"") "," ENTRY(5,
                                                                     "\"os\":\"linux\",\"architecture\":\"arm64\",\"variant\":\"v8\"") "," ENTRY(6,
                                                                                                                                                 "\"os\":\"unknown\",\"architecture\":\"unknown\""));
    struct document document;
    assert_int_equal(manifest_read_document(json, strlen(json), &amd64, &document, NULL), 0);
    assert_int_equal(document.kind, DOCUMENT_INDEX);
    assert_string_equal(document.chosen.digest.text, "sha256:" HEX "3");
    assert_int_equal(document.chosen.size, 7);
    assert_int_equal(manifest_read_document(json, strlen(json), &arm64, &document, NULL), 0);
    assert_string_equal(document.chosen.digest.text, "sha256:" HEX "5");
    const struct platform other = {"linux", "riscv64", NULL};
    struct fault fault = {0};
    assert_int_equal(manifest_read_document(json, strlen(json), &other, &document, &fault), -2);
    assert_non_null(strstr(fault.text, "linux/riscv64"));
    assert_non_null(strstr(fault.text, "windows/amd64, linux/amd64/v3"));
    assert_null(strstr(fault.text, "unknown"));
}

static void manifest_lists_its_layers(void **state)
{
    (void)state;
    static const char json[] =
        MANIFEST(LAYER(1, GZIP, "10") "," LAYER(2, OCI "layer.v1.tar+zstd", "0") "," LAYER(
            3, "application/vnd.docker.image.rootfs.diff.tar.gzip", "5"));
    struct document document;
    assert_int_equal(manifest_read_document(json, strlen(json), &amd64, &document, NULL), 0);
    assert_int_equal(document.kind, DOCUMENT_MANIFEST);
    assert_int_equal(document.layer_count, 3);
    assert_string_equal(document.configuration.digest.text, "sha256:" HEX "a");
    assert_string_equal(document.layers[0].digest.text, "sha256:" HEX "1");
    assert_string_equal(document.layers[2].digest.text, "sha256:" HEX "3");
    assert_int_equal(document.layers[2].size, 5);
}

static void other_documents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int error;
        const char *words;
    } cases[] = {
        {"", 22, "damaged"},
        {"[]", 22, "neither"},
        {"{\"schemaVersion\":2}", 22, "neither"},
        {"{\"manifests\":[],\"layers\":[]}", 22, "neither"},
        {"{\"mediaType\":\"" OCI "index.v1+json\",\"layers\":[]}", 22, "neither"},
        {"{\"schemaVersion\":1,\"fsLayers\":[]}", 95, "schema version 1"},
        {"{\"mediaType\":\"text/html\",\"layers\":[]}", 95, "text/html"},
        {"{\"manifests\":{}}", 22, "index is damaged"},
        {INDEX(""), 2, "no image for linux/amd64"},
        {"{\"layers\":[]}", 95, "no container image"},
        {"{\"config\":{\"mediaType\":\"application/vnd.cncf.helm.config.v1+json\"},\"layers\":[]}",
         95, "helm"},
        {"{" CONFIG ",\"layers\":7}", 22, "no layers"},
        {MANIFEST("7"), 95, "nothing"},
        {MANIFEST(LAYER(1, "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "1")), 95,
         "foreign"},
        {MANIFEST(LAYER(1, "x\\u001b[2J", "1")), 95, "x?[2J"},
        {MANIFEST(LAYER(1, GZIP, "-1")), 22, "no size"},
        {MANIFEST(LAYER(1, GZIP, "1.5")), 22, "no size"},
        {MANIFEST(LAYER(1, GZIP, "99999999999999")), 22, "more than"},
        {MANIFEST(LAYER(1, GZIP, "17000000000") "," LAYER(1, GZIP, "17000000000")), 22, "GiB"},
        {MANIFEST("{\"mediaType\":\"" GZIP "\",\"size\":1}"), 22, "no digest"},
        {MANIFEST("{\"mediaType\":\"" GZIP "\",\"size\":1,\"digest\":\"md5:x\"}"), 95, "md5:x"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct document document;
        struct fault fault = {0};
        int r =
            manifest_read_document(cases[i].json, strlen(cases[i].json), &amd64, &document, &fault);
        if (r != -cases[i].error || strstr(fault.text, cases[i].words) == NULL)
            fail_msg("%s\n%d: %s", cases[i].json, r, fault.text);
    }
}

static void layers_have_a_maximum(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(1 << 20);
    assert_int_equal(buffer_append_text(&text, "{" CONFIG ",\"layers\":["), 0);
    for (int i = 0; i < LAYERS_MAX; i++)
        assert_int_equal(buffer_format(&text, "%s%s", i > 0 ? "," : "", LAYER(1, GZIP, "1")), 0);
    size_t length = text.length;
    assert_int_equal(buffer_append_text(&text, "]}"), 0);
    struct document document;
    assert_int_equal(manifest_read_document(text.data, text.length, &amd64, &document, NULL), 0);
    assert_int_equal(document.layer_count, LAYERS_MAX);
    text.length = length;
    assert_int_equal(buffer_append_text(&text, "," LAYER(1, GZIP, "1") "]}"), 0);
    assert_int_equal(manifest_read_document(text.data, text.length, &amd64, &document, NULL), -22);
}

static void configuration_names_layers_and_variables(void **state)
{
    (void)state;
    static const char json[] =
        "{\"os\":\"linux\",\"architecture\":\"amd64\",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":["
        "\"sha256:" HEX "1\",\"sha256:" HEX "2\"]},\"config\":{\"Env\":[\"PATH=/a:/b\",\"HOME=/x\","
        "\"LD_PRELOAD=/x.so\",\"LANG=C\",7,\"=x\",\"A\\u0000=b\",\"EMPTY=\"]}}";
    OWNED(manifest_release_configuration) struct configuration configuration = {0};
    assert_int_equal(manifest_read_configuration(json, strlen(json), &amd64, &configuration, NULL),
                     0);
    assert_int_equal(configuration.diff_id_count, 2);
    assert_string_equal(configuration.diff_ids[1].text, "sha256:" HEX "2");
    assert_string_equal(configuration.environment[0], "PATH=/a:/b");
    assert_string_equal(configuration.environment[1], "LANG=C");
    assert_string_equal(configuration.environment[2], "EMPTY=");
    assert_null(configuration.environment[3]);
}

static void other_configurations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int error;
        const char *words;
    } cases[] = {
        {"x", 22, "damaged"},
        {"[]", 22, "damaged"},
        {"{}", 22, "does not list the layers"},
        {"{\"rootfs\":{\"diff_ids\":[\"x\"]}}", 95, "neither"},
        {"{\"os\":\"linux\",\"architecture\":\"arm64\"}", 8, "linux/arm64, and this machine"},
        {"{\"os\":\"windows\",\"architecture\":\"amd64\"}", 8, "windows/amd64"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(manifest_release_configuration) struct configuration configuration = {0};
        struct fault fault = {0};
        int r = manifest_read_configuration(cases[i].json, strlen(cases[i].json), &amd64,
                                            &configuration, &fault);
        if (r != -cases[i].error || strstr(fault.text, cases[i].words) == NULL)
            fail_msg("%s\n%d: %s", cases[i].json, r, fault.text);
    }
}

static void variables_that_the_run_decides_are_left_out(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "PATH=/x", "LANG=", "A1_b=x=y", "LD_LIBRARY_PATH=/x", "PYTHONPATH=/x", "LC_ALL=\xc3\xa4"};
    static const char *const left_out[] = {
        "",      "A",          "=x",   "1A=x",   "A B=x",     "A-B=x",       "HOME=",
        "PWD=/", "LD_AUDIT=x", "A=\n", "A=\x7f", "TMPDIR=/x", "A\xc3\xa4=x", "LD_LIBRARY_PATHX=1"};
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
        assert_true(manifest_wants_variable(wanted[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(left_out); i++)
        if (manifest_wants_variable(left_out[i]))
            fail_msg("%s", left_out[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_leads_to_the_platform),
        cmocka_unit_test(manifest_lists_its_layers),
        cmocka_unit_test(other_documents_are_refused),
        cmocka_unit_test(layers_have_a_maximum),
        cmocka_unit_test(configuration_names_layers_and_variables),
        cmocka_unit_test(other_configurations_are_refused),
        cmocka_unit_test(variables_that_the_run_decides_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
