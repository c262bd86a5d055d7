"""Every kind of node of JavaScript's syntax is looked at by the checker: none may hide a name.

NODES lists all that acorn makes, with a place for an expression in each field that holds one. A kind of a newer acorn that
is not in it fails here; the checker itself visits what it does not know.
"""

import re

from table import RULES

from support.mcp_client import ROOT

# Programs, with "$" for what may hide in them; none: nothing that runs is in such a node, but in others of this table.
NODES = {
    "ArrayExpression": ["[$]", "[, 1, $]"], "ArrayPattern": ["[a = $] = b", "[$.a] = b", "let [, a = $] = b"],
    "ArrowFunctionExpression": ["() => $", "(a = $) => 1", "async () => { $ }"],
    "AssignmentExpression": ["a = $", "a += $", "a ??= $", "$.a = 1", "$.a += 1", "a[$] = 1"],
    "AssignmentPattern": ["({ a = $ } = b)", "function f(a = $) {}"], "AwaitExpression": ["await $"],
    "BinaryExpression": ["a + $", "$ in a", "$ ** a"], "BlockStatement": ["{ $ }", "{ { $ } }"], "BreakStatement": [],
    "CallExpression": ["f($)", "$.f()", "f(...$)"], "CatchClause": ["try { a } catch { $ }", "try { a } catch ({ b = $ }) {}"],
    "ChainExpression": ["a?.b($)", "$?.a", "a?.[$]"], "ClassBody": [], "ClassDeclaration": ["class A extends $ {}", "class A { a() { $ } }"],
    "ClassExpression": ["(class extends $ {})", "(class { a = $ })"], "ConditionalExpression": ["$ ? a : b", "a ? $ : b", "a ? b : $"],
    "ContinueStatement": [], "DebuggerStatement": [], "DoWhileStatement": ["do { $ } while (a)", "do {} while ($)"], "EmptyStatement": [],
    "ExportAllDeclaration": ["export * from 'child_process'", "export * as a from 'child_process'"],
    "ExportDefaultDeclaration": ["export default $", "export default class extends $ {}"],
    "ExportNamedDeclaration": ["export const a = $", "export { spawn } from 'child_process'"], "ExportSpecifier": [],
    "ExpressionStatement": ["$"], "ForInStatement": ["for (a in $) {}", "for ($.a in b) {}", "for (a in b) $", "for (const { c = $ } of b) {}"],
    "ForOfStatement": ["for (a of $) {}", "for ($.a of b) {}", "for (const a of b) { $ }", "for await (const a of $) {}"],
    "ForStatement": ["for ($;;) {}", "for (;$;) {}", "for (;;$) {}", "for (;;) { $ }", "for (let a = $;;) {}"],
    "FunctionDeclaration": ["function f() { $ }", "function f({ a: { b = $ } }) {}", "function* f() { $ }", "function f(...[a = $]) {}"],
    "FunctionExpression": ["(function () { $ })", "(function (a = $) {})"], "Identifier": [],
    "IfStatement": ["if ($) a", "if (a) $", "if (a) b; else $"], "ImportAttribute": [],
    "ImportDeclaration": ["import 'child_process'"], "ImportDefaultSpecifier": ["import a from 'child_process'"],
    "ImportExpression": ["import('child_process')", "import(a + $)", "import('a', { with: $ })"],
    "ImportNamespaceSpecifier": ["import * as a from 'child_process'"], "ImportSpecifier": ["import { a } from 'child_process'"],
    "LabeledStatement": ["a: { $ }"], "Literal": [], "LogicalExpression": ["a && $", "$ || a", "a ?? $"],
    "MemberExpression": ["$.a", "a[$]", "$[a]", "$[$]"], "MetaProperty": [], "MethodDefinition": ["class A { [$]() {} }", "class A { get a() { $ } }"],
    "NewExpression": ["new A($)", "new ($.A)()"], "ObjectExpression": ["({ a: $ })", "({ ...$ })"],
    "ObjectPattern": ["({ a: $.b } = c)", "({ [$]: a } = b)", "let { [$]: a } = b", "({ ...$.a } = b)"], "ParenthesizedExpression": ["($)"],
    "PrivateIdentifier": [], "Program": [], "Property": ["({ [$]: 1 })", "({ a() { $ } })", "({ get a() { $ } })"],
    "PropertyDefinition": ["class A { [$] = 1 }", "class A { static #a = $ }"], "RestElement": ["[...[a = $]] = b", "((...[a = $]) => 1)()"],
    "ReturnStatement": ["function f() { return $ }"], "SequenceExpression": ["a, $"], "SpreadElement": ["f(...$)", "[...$]"],
    "StaticBlock": ["class A { static { $ } }"], "Super": [], "SwitchCase": ["switch (a) { case $: }", "switch (a) { default: $ }"],
    "SwitchStatement": ["switch ($) {}"], "TaggedTemplateExpression": ["f`${$}`", "$.f`a`"], "TemplateElement": [], "TemplateLiteral": ["`${$}`"],
    "ThisExpression": [], "ThrowStatement": ["throw $"], "TryStatement": ["try { $ } catch {}", "try { a } finally { $ }"],
    "UnaryExpression": ["!$", "typeof $", "delete $.a"], "UpdateExpression": ["$.a++", "--a[$]"], "VariableDeclaration": ["var a = $", "const a = $"],
    "VariableDeclarator": ["let { a = $ } = b", "let [[a = $]] = b"], "WhileStatement": ["while ($) {}", "while (a) $"],
    "WithStatement": ["with ($) {}", "with (a) $"], "YieldExpression": ["function* f() { yield $ }", "function* f() { yield* $ }"],
}
HIDDEN = "require('child_process').a"


def made_by_acorn():
    text = (ROOT / "images" / "runners" / "javascript" / "acorn" / "acorn.js").read_text("utf-8")
    made = re.findall(r"(?:finishNode(?:At)?\(|\.type = )([^;]*);", text)
    return {name for call in made for name in re.findall(r'"([A-Z]\w+)"', call)}


def test_all_nodes_of_acorn_are_in_the_table():
    made = made_by_acorn()
    assert len(made) >= 70
    assert made - set(NODES) == set()


def test_no_node_hides_a_name(check, rules_file):
    programs = [("javascript", program.replace("${", "\0").replace("$", HIDDEN).replace("\0", "${")) for name in sorted(NODES) for program in NODES[name]]
    found = check(programs, rules_file({**RULES, "dynamic": "allow"}))
    missed = [program for (_, program), findings in zip(programs, found)
              if not any(finding["what"].startswith("child_process") and finding["rule"] == "no-process" for finding in findings)]
    assert missed == []
