"use strict";
/* What an expression of a program is, as far as it consists of constants: a part of check.cjs. */

const FOLDED_MAX = 1 << 16;
const FOLDS_MAX = 100_000; // steps, for a whole program
const UNKNOWN = Symbol("unknown");
const STRING_METHODS = new Set(["toLowerCase", "toUpperCase", "trim", "trimStart", "trimEnd", "slice", "substring", "substr", "concat",
    "replace", "replaceAll", "split", "repeat", "padStart", "padEnd", "at", "charAt", "toString", "normalize"]);
const ARRAY_METHODS = new Set(["join", "reverse", "slice", "concat", "at", "toString", "toReversed"]);

/* For a class that has a scope with the constants of names, and resolve(node), the names of an expression. */
class Constants {
    folds = 0;

    fold(node) {
        try {
            const value = this.foldValue(node);
            return (typeof value === "string" || Array.isArray(value)) && value.length > FOLDED_MAX ? UNKNOWN : value;
        } catch {
            return UNKNOWN;
        }
    }

    knownValue(node) {
        const value = this.foldValue(node);
        if (value === UNKNOWN || ((typeof value === "string" || Array.isArray(value)) && value.length > FOLDED_MAX)) throw new Error("unknown");
        return value;
    }

    foldValue(node) {
        if (++this.folds > FOLDS_MAX) return UNKNOWN;
        switch (node.type) {
            case "Literal": return node.regex || typeof node.value === "bigint" ? UNKNOWN : node.value;
            case "Identifier": return this.scope.of(node.name)?.constants.get(node.name) ?? UNKNOWN;
            case "TemplateLiteral":
                return node.quasis.map((part, i) => part.value.cooked + (i < node.expressions.length ? String(this.knownValue(node.expressions[i])) : "")).join("");
            case "BinaryExpression": {
                const left = this.knownValue(node.left), right = this.knownValue(node.right);
                return { "+": () => left + right, "-": () => left - right, "^": () => left ^ right, "*": () => left * right }[node.operator]?.() ?? UNKNOWN;
            }
            case "ArrayExpression": return node.elements.map((element) => this.knownValue(element));
            case "MemberExpression": {
                const value = this.knownValue(node.object);
                const key = node.computed ? this.knownValue(node.property) : node.property.name;
                return typeof key === "number" || key === "length" ? value[key] : UNKNOWN;
            }
            case "CallExpression": return this.foldCall(node);
        }
        return UNKNOWN;
    }

    foldCall(node) {
        const given = node.arguments.map((one) => (one.type === "SpreadElement" ? UNKNOWN : this.knownValue(one)));
        const spread = node.arguments.length === 1 && node.arguments[0].type === "SpreadElement" ? this.knownValue(node.arguments[0].argument) : null;
        const [name] = this.resolve(node.callee).map((one) => one.replace(/^global:/, ""));
        switch (name) {
            case "String.fromCharCode": return String.fromCharCode(...(spread ?? given));
            case "String.fromCodePoint": return String.fromCodePoint(...(spread ?? given));
            case "String": return String(given[0]);
            case "atob": return atob(given[0]);
            case "unescape": return unescape(given[0]);
            case "decodeURIComponent": return decodeURIComponent(given[0]);
            case "parseInt": return parseInt(...given);
            case "Buffer.from": return { bytes: Buffer.from(...given) };
        }
        if (node.callee.type !== "MemberExpression" || node.callee.computed) return UNKNOWN;
        const value = this.knownValue(node.callee.object), method = node.callee.property.name;
        if (value?.bytes instanceof Buffer) return method === "toString" ? value.bytes.toString(...given) : UNKNOWN;
        if (typeof value === "string" && STRING_METHODS.has(method)) {
            const factor = method === "repeat" ? given[0] : /^replace/.test(method) ? String(given[1]).length : 1;
            if (value.length * factor > 16 * FOLDED_MAX || (/^pad/.test(method) && given[0] > FOLDED_MAX)) return UNKNOWN;
            return value[method](...given);
        }
        return Array.isArray(value) && ARRAY_METHODS.has(method) ? [...value][method](...given) : UNKNOWN;
    }
}

module.exports = { Constants, UNKNOWN };
