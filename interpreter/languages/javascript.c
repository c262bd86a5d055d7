#include "images/runners/javascript/acorn-program.h"
#include "images/runners/javascript/calls-program.h"
#include "images/runners/javascript/check-program.h"
#include "images/runners/javascript/constants-program.h"
#include "images/runners/javascript/scopes-program.h"
#include "images/runners/javascript/session-program.h"
#include "interpreter/languages/language.h"
#include "sandbox/base/owned.h"

#include <string.h>

static const char *const npm_packages[] = {
    "@anthropic-ai/sdk",
    "@google/genai",
    "ajv",
    "axios",
    "bcryptjs",
    "chalk",
    "cheerio",
    "commander",
    "cors",
    "csv-parse",
    "d3",
    "date-fns",
    "dayjs",
    "dotenv",
    "ejs",
    "exceljs",
    "express",
    "fastify",
    "fs-extra",
    "glob",
    "graphql",
    "handlebars",
    "immer",
    "joi",
    "js-yaml",
    "jsdom",
    "jsonwebtoken",
    "koa",
    "lodash",
    "luxon",
    "marked",
    "mathjs",
    "moment",
    "mongodb",
    "mysql2",
    "nanoid",
    "node-fetch",
    "openai",
    "papaparse",
    "pg",
    "prettier",
    "qs",
    "ramda",
    "react",
    "react-dom",
    "redis",
    "rxjs",
    "semver",
    "sharp",
    "typescript",
    "undici",
    "uuid",
    "validator",
    "vue",
    "ws",
    "xlsx",
    "yaml",
    "yargs",
    "zod",
};

static void find_npm_package(struct hint *hint)
{
    for (size_t i = 0; i < ARRAY_LENGTH(npm_packages); i++) {
        if (strcmp(npm_packages[i], hint->name) == 0)
            hint->npm = npm_packages[i];
    }
}

/* Lines of Node about the error, but not the error. */
static bool is_about(struct hint_span line)
{
    return span_begins_with(line, "    at ") || span_begins_with(line, "  code: ") ||
           span_is(line, "}") || span_begins_with(line, "Node.js v");
}

/* A declaration of a type, or of something with one. */
static bool is_typed(struct hint_span line)
{
    static const char *const types[] = {
        "interface ",        "type ",        "enum ",        "declare ", "abstract ", "namespace ",
        "export interface ", "export type ", "export enum ", NULL};
    static const char *const others[] = {
        "let ", "const ", "var ", "function ", "async function ", "export ", NULL};
    return span_begins_with_any(line, types) ||
           (span_begins_with_any(line, others) && span_has(line, ": "));
}

static const char *advise(const struct hint_span *lines)
{
    if (span_begins_with(lines[0], "ReferenceError: Cannot determine intended module format"))
        return "With await at the top, a program imports: import fs from 'node:fs'.";
    struct hint_span line = span_without_indentation(lines[2]);
    if (span_is(lines[0], "SyntaxError: Unexpected identifier 'as'"))
        return "A program is JavaScript: leave types out.";
    bool may_be_type = span_is(lines[0], "SyntaxError: Unexpected token ':'") ||
                       span_is(lines[0], "SyntaxError: Unexpected reserved word") ||
                       span_begins_with(lines[0], "SyntaxError: Unexpected identifier ") ||
                       span_is(lines[0], "SyntaxError: Missing initializer in const declaration");
    return may_be_type && is_typed(line) ? "A program is JavaScript: leave types out." : NULL;
}

/* Cuts the path within a package off: "@scope/name/part", "name/part". False: it is no package. */
static bool cut_to_package(char *name)
{
    static const char allowed[] = SPAN_LOWER SPAN_DIGITS "._-";
    char *part = name + (name[0] == '@');
    for (int parts = name[0] == '@' ? 2 : 1; parts > 0; parts--) {
        size_t length = strspn(part, allowed);
        if (length == 0 || part[0] == '.' || part[0] == '-' || part[0] == '_')
            return false;
        part += length;
        if (*part != '/' && (*part != '\0' || parts > 1))
            return false;
        part += parts > 1;
    }
    *part = '\0';
    return true;
}

/* Stack, properties and "Require stack:" stand between the message and the end. */
static bool follows_message(struct hint_span line)
{
    return span_is_blank(line) || *line.at == ' ' || *line.at == '}' || span_skip(&line, "- ") ||
           span_skip(&line, "Require stack:");
}

static struct hint read_error(struct hint_span text)
{
    struct hint_span line = span_take_written_line(&text);
    struct hint hint = {0};
    char name[HINT_NAME_MAX + 1];
    if (!span_skip(&line, "Node.js v"))
        return hint;
    do
        line = span_take_line(&text);
    while (follows_message(line) && text.at < text.end);
    if (span_skip(&line, "ReferenceError: ")) {
        bool is_whole = span_take_name(&line, ' ', SPAN_WORD "$", name) &&
                        span_skip(&line, " is not defined") && span_is_blank(line);
        return is_whole ? hint_of_undefined(name) : hint;
    }
    bool is_missing = span_skip(&line, "Error: Cannot find module '") ||
                      span_skip(&line, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '");
    if (!is_missing || !span_take_name(&line, '\'', SPAN_LOWER SPAN_DIGITS "@/._-", hint.name) ||
        !cut_to_package(hint.name))
        return (struct hint){0};
    hint.kind = HINT_NOT_INSTALLED;
    find_npm_package(&hint);
    return hint;
}

static struct hint find_hint(struct hint_span text, const struct run_result *result)
{
    struct hint_span lines[HINT_LINES_MAX];
    struct hint hint = {0};
    if (result->exit_code != 1)
        return hint;
    span_last_lines(text, is_about, lines);
    if (span_is(lines[0], "SyntaxError: Invalid or unexpected token"))
        hint = hint_of_escapes(lines[2]);
    const char *advice = hint.kind == HINT_NONE ? advise(lines) : NULL;
    if (advice != NULL)
        hint = (struct hint){.kind = HINT_NOTEBOOK, .advice = advice};
    return hint.kind != HINT_NONE ? hint : read_error(text);
}

static const struct run_input check_files[] = {
    {"check.cjs", javascript_check_program, sizeof(javascript_check_program)},
    {"constants.cjs", javascript_constants_program, sizeof(javascript_constants_program)},
    {"scopes.cjs", javascript_scopes_program, sizeof(javascript_scopes_program)},
    {"acorn.js", acorn_program, sizeof(acorn_program)},
};

const struct language language_javascript = {
    .name = "javascript",
    .title = "JavaScript",
    .image = "node",
    .extensions = WORDS(".js", ".mjs", ".cjs"),
    .other_names = WORDS("js", "node"),
    .http_names = WORDS("nodejs", "javascript"),

    /*
     * Node distinguishes an ES module from a script by its syntax (by default since 22.7 and 20.19), so
     * main.js works for both, including top-level await.
     */
    .code_name = "main.js",
    .argv = WORDS("node", "main.js"),
    .may_be_warm = true,
    .probe = "console.log('ok')",
    .probe_prints = "ok\n",
    .looked_for = WORDS("package.json"),
    .packages = "node_modules",
    .judge_typed = typed_javascript,
    .session =
        &(const struct session_runner){
            .kept = "variables and files",
            .kind = SESSION_LIVE,
            .interrupted_by_frame = true,
            /* An interrupt may end a callback of a timer without the books that Node keeps of it. */
            .argv = WORDS("node", "--no-force-async-hooks-checks", "main.js"),
            .calls_program = javascript_calls_program,
            .calls_length = sizeof(javascript_calls_program),
            .program = javascript_session_program,
            .length = sizeof(javascript_session_program),
        },
    .check =
        &(const struct language_check){
            .files = check_files,
            .file_count = ARRAY_LENGTH(check_files),
            .start = "const { check } = require('./check.cjs'), { readFileSync } = require('fs');",
            .before = "console.log(JSON.stringify(check(readFileSync(0, 'utf8'), ",
            .between = ", ",
            .after = ")));",
        },

    .description = "Runs a JavaScript program with Node.js in a sandbox and returns its output. "
                   "Use it to compute or to test code.",
    .libraries = "Installed: Node's own modules.",
    .code = "The whole JavaScript program, run as `node main.js`. Use either require(), or import "
            "and top-level await. Print the values you want to see with console.log().",
    .example = "console.log([1, 2, 3].map((x) => x * x))",
    .silent_hint = "To see a value, print it: console.log(value)",
    .misses =
        (const struct language_miss[]){
            {"Cannot find module '", MISS_IMPORT, WORDS("", ".js", ".json", ".cjs", ".mjs")},
            {"no such file or directory, ", MISS_FILE, WORDS("")},
            {0},
        },
    .find_hint = find_hint,
};
