"use strict";
/* Where names are bound in a program, what is in its nodes, and which modules there are: a part of check.cjs. */
const { builtinModules, createRequire } = require("node:module");

const MISSING_MAX = 10000;
const GLOBAL = new Set(["globalThis", "global", "self"]);

class Scope {
    constructor(parent, isFunction, node = null) {
        this.parent = parent;
        this.node = node; // whose scope it is; null: the program's
        this.isFunction = isFunction;
        this.values = new Map(); // name: list of what it may stand for; each name that is bound here
        this.constants = new Map(); // name: its value, or UNKNOWN
    }

    declare(name) {
        if (!this.values.has(name)) this.values.set(name, []);
    }

    functionScope() {
        return this.isFunction || !this.parent ? this : this.parent.functionScope();
    }

    of(name) {
        for (let scope = this; scope; scope = scope.parent) if (scope.values.has(name)) return scope;
        return null;
    }
}

const isNode = (value) => value !== null && typeof value === "object" && typeof value.type === "string";

function children(node) {
    const found = [];
    for (const key in node) {
        const value = node[key];
        if (value === null || typeof value !== "object" || key === "loc") continue;
        if (Array.isArray(value)) {
            for (const one of value) if (isNode(one)) found.push(one);
        } else if (typeof value.type === "string") found.push(value);
    }
    return found;
}

/* The names that a pattern binds. */
function* bound(pattern) {
    if (!pattern) return;
    switch (pattern.type) {
        case "Identifier": yield pattern.name; break;
        case "ObjectPattern": for (const one of pattern.properties) yield* bound(one.type === "RestElement" ? one.argument : one.value); break;
        case "ArrayPattern": for (const one of pattern.elements) yield* bound(one); break;
        case "AssignmentPattern": yield* bound(pattern.left); break;
        case "RestElement": yield* bound(pattern.argument); break;
    }
}

/* Children in fields other than these. */
function* others(node, fields) {
    for (const key in node) {
        if (key === "loc" || fields.includes(key)) continue;
        for (const one of [node[key]].flat()) if (isNode(one)) yield one;
    }
}

const FUNCTION = ["id", "params", "body"], LOOP = ["init", "test", "update", "left", "right", "body"], CLASS = ["id", "superClass", "body"];
const MEMBER = ["key", "value"], CALL = ["callee", "arguments"], NONE = [];
/* What the handlers of check.cjs look at. Whatever else a node has is visited besides, as is all of a node without a handler. */
const FIELDS = {
    ImportDeclaration: ["specifiers", "source"], ExportNamedDeclaration: ["declaration", "specifiers", "source"],
    ExportAllDeclaration: ["exported", "source"], ImportExpression: ["source"], VariableDeclaration: ["declarations"],
    AssignmentExpression: ["left", "right"], BlockStatement: ["body"], StaticBlock: ["body"], ForStatement: LOOP, ForInStatement: LOOP,
    ForOfStatement: LOOP, SwitchStatement: ["discriminant", "cases"], ClassExpression: CLASS, CatchClause: ["param", "body"],
    IfStatement: ["test", "consequent", "alternate"], TryStatement: ["block", "handler", "finalizer"], FunctionDeclaration: FUNCTION,
    FunctionExpression: FUNCTION, ArrowFunctionExpression: FUNCTION, Property: MEMBER, MethodDefinition: MEMBER, PropertyDefinition: MEMBER,
    LabeledStatement: ["label", "body"], BreakStatement: ["label"], ContinueStatement: ["label"], MetaProperty: ["meta", "property"],
    Identifier: NONE, MemberExpression: ["object", "property"], CallExpression: CALL, NewExpression: CALL, Literal: ["regex", "value"],
    TemplateLiteral: ["quasis", "expressions"], BinaryExpression: ["left", "right"],
};

const MISSING = new Map();
const builtins = new Set(builtinModules);

/* Whether no such module is there. Nothing is loaded. */
function isMissing(specifier) {
    if (/^(node:|[./]|data:|file:)/.test(specifier) || builtins.has(specifier.split("/")[0])) return false;
    if (MISSING.size > MISSING_MAX) MISSING.clear();
    if (!MISSING.has(specifier)) {
        let missing = false;
        try {
            createRequire("/work/").resolve(specifier);
        } catch (error) {
            missing = error.code === "MODULE_NOT_FOUND";
        }
        MISSING.set(specifier, missing);
    }
    return MISSING.get(specifier);
}

/* (() => {}).constructor, [].constructor.constructor */
function isConstructorOfFunction(node) {
    if (node.type !== "MemberExpression" || node.computed || node.property.name !== "constructor") return false;
    const object = node.object;
    return /Function/.test(object.type) || (object.type === "MemberExpression" && !object.computed && object.property.name === "constructor");
}

function member(base, name) {
    if (base === "global:globalThis") return GLOBAL.has(name) ? base : `global:${name}`;
    if (base.startsWith("import:")) return `${base}.${name}`.replace(/\.default$/, "");
    return name === "default" ? base : `${base}.${name}`;
}

module.exports = { FIELDS, GLOBAL, NONE, Scope, bound, children, isConstructorOfFunction, isMissing, member, others };
