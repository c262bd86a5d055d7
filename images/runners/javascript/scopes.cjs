"use strict";
/* Where names are bound in a program: a part of check.cjs. */

class Scope {
    constructor(parent, isFunction) {
        this.parent = parent;
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

module.exports = { Scope, bound, children };
