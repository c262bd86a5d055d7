"use strict";
/*
 * Says what a program names, without running it; what check.py is for Python, with the same facts.
 *
 * Modules are named without "node:", members of what they export as "fs.readFile". Whatever a name stands for
 * is a list of such texts; one that begins with "global:" is of a name that nothing in the program binds, as
 * "global:process.exit", and one with "import:" of the promise of a module.
 */
const acorn = require("./acorn.js");
const { Constants, UNKNOWN } = require("./constants.cjs");
const { FIELDS, GLOBAL, NONE, Scope, bound, children, isConstructorOfFunction, isMissing, member, others } = require("./scopes.cjs");

const FACTS_MAX = 4096;
const LITERALS_MAX = 4096;
const LITERAL_MAX = 4096;
const NAME_MAX = 256; // of a name, whose beginning decides
const DEPTH_MAX = 8;
const VALUES_MAX = 16;
const PASSES_MAX = 4; // over a program whose names are used before they are bound
const REQUIRE = "require";
// Functions that give a module, or run a text.
const LOADERS = new Set([REQUIRE, "require.call", "process.getBuiltinModule", "process.mainModule.require", "module.require", "require.main.require",
    "module.constructor._load", "module._load", "process.binding", "process._linkedBinding", "module.createRequire()"]);
const EVALUATORS = new Set(["eval", "Function", "vm.runInThisContext", "vm.runInNewContext", "vm.runInContext", "vm.Script",
    "vm.compileFunction", "setTimeout", "setInterval", "setImmediate"]);
const TIMERS = new Set(["setTimeout", "setInterval", "setImmediate"]);

const withoutPrefix = (name) => name.replace(/^node:/, "");
const bare = (name) => name.replace(/^(?:global|import):/, "");

class Checker extends Constants {
    constructor(wantsLiterals, wantsMissing, known, lines = []) {
        super();
        this.facts = [];
        this.literals = 0;
        this.resolved = new Map(); // expressions of one statement: what they may stand for
        this.more = false; // than has room
        this.lines = lines;
        this.seen = new Set();
        this.wantsLiterals = wantsLiterals;
        this.wantsMissing = wantsMissing;
        this.known = new Set(known);
        this.scope = new Scope(null, true);
        this.early = new Map(); // node of a scope: names that were looked up when nothing was known of them, and the scope
        this.carried = new Map(); // node of a scope: what its names stand for later
        this.implicit = new Map(); // names that nothing declares: what is assigned to them
        this.later = [];
        this.depth = 0;
        this.place = null;
        this.guarded = 0;
    }

    add(kind, name, node) {
        name = name.slice(0, kind === "literal" ? LITERAL_MAX : NAME_MAX);
        const key = `${kind} ${name}`;
        if (this.seen.has(key)) return;
        const isLiteral = kind === "literal";
        if (isLiteral ? this.literals === LITERALS_MAX : this.facts.length - this.literals === FACTS_MAX) {
            this.more = true;
            return;
        }
        this.literals += isLiteral;
        this.seen.add(key);
        const [line, column] = this.place ?? this.placeOf(node);
        this.facts.push([kind, name, line, column]);
    }

    addName(name, node) {
        this.add(name.startsWith("global:") ? "global" : "name", bare(name), node);
    }

    /* Line and column, in characters. */
    placeOf(node) {
        const { line, column } = node.loc.start;
        return [line, [...(this.lines[line - 1] ?? "").slice(0, column)].length + 1];
    }

    addImport(specifier, node) {
        const name = withoutPrefix(specifier);
        this.add("import", name, node);
        if (this.wantsMissing && !this.guarded && isMissing(specifier) && !this.known.has(specifier)) this.add("missing", name, node);
    }

    // Programs and scopes.

    program(text, sourceType) {
        const options = { ecmaVersion: "latest", sourceType, locations: true, allowHashBang: true, allowReturnOutsideFunction: true,
            allowAwaitOutsideFunction: true, allowImportExportEverywhere: true, allowSuperOutsideMethod: true };
        return acorn.parse(text, options);
    }

    /* Again with what is known at its end, where a name is bound after its use: by a function, in a loop. */
    whole(tree) {
        for (let pass = 0, before = -1; pass < PASSES_MAX; pass++) {
            this.early = new Map();
            this.scope = this.newScope(null, true, null);
            this.body(tree.body);
            let known = 0;
            for (const [node, names] of this.early) {
                const carried = this.carried.get(node) ?? new Map();
                for (const [name, scope] of names) if (scope.values.get(name).length > 0) carried.set(name, [...scope.values.get(name)]);
                this.carried.set(node, carried);
            }
            for (const names of this.carried.values()) known += names.size;
            for (const values of this.implicit.values()) known += values.length;
            if (known === 0 || known === before) break;
            before = known;
        }
    }

    newScope(parent, isFunction, node) {
        const scope = new Scope(parent, isFunction, node);
        for (const [name, values] of this.carried.get(node) ?? []) scope.values.set(name, values);
        return scope;
    }

    body(nodes) {
        const outer = this.later;
        this.later = [];
        this.hoist(nodes);
        for (const node of nodes) this.visit(node);
        for (const [scope, body, place] of this.later) {
            const before = [this.scope, this.place];
            [this.scope, this.place] = [scope, place];
            this.body(body);
            [this.scope, this.place] = before;
        }
        this.later = outer;
    }

    /* Declares what the statements of a block bind, and var of all below them. */
    hoist(nodes) {
        for (const node of nodes) {
            const declared = node.declaration ?? node;
            if (/^(Function|Class)Declaration$/.test(declared.type) && declared.id) {
                this.scope.declare(declared.id.name);
                if (declared.type === "FunctionDeclaration") this.scope.functionScope().declare(declared.id.name); // as in sloppy mode
            }
            if (declared.type === "VariableDeclaration" && declared.kind !== "var") this.declareAll(declared, this.scope);
            if (declared.type === "ImportDeclaration") for (const one of declared.specifiers) this.scope.declare(one.local.name);
        }
        if (this.scope.isFunction) for (const node of nodes) this.hoistVariables(node);
    }

    hoistVariables(node) {
        if (/Function|Class/.test(node.type)) return;
        if (node.type === "VariableDeclaration" && node.kind === "var") this.declareAll(node, this.scope);
        for (const child of children(node)) this.hoistVariables(child);
    }

    declareAll(declaration, scope) {
        for (const one of declaration.declarations) for (const name of bound(one.id)) scope.declare(name);
    }

    inScope(scope, work) {
        const outer = this.scope;
        this.scope = scope;
        work();
        this.scope = outer;
    }

    function(node) {
        const scope = this.newScope(this.scope, true, node);
        if (node.id && node.type === "FunctionExpression") scope.declare(node.id.name);
        for (const parameter of node.params) for (const name of bound(parameter)) scope.declare(name);
        this.inScope(scope, () => { for (const parameter of node.params) this.visitPattern(parameter); });
        const body = node.body.type === "BlockStatement" ? node.body.body : [{ type: "ExpressionStatement", expression: node.body, loc: node.body.loc }];
        this.later.push([scope, body, this.place]);
    }

    // What an expression may stand for.

    resolve(node) {
        if (node.type === "Identifier") return this.lookUp(node.name);
        let found = this.resolved.get(node);
        if (!found) this.resolved.set(node, (found = this.resolveAnew(node).slice(0, VALUES_MAX)));
        return found;
    }

    lookUp(name) {
        const scope = this.scope.of(name);
        if (!scope) return [GLOBAL.has(name) ? "global:globalThis" : `global:${name}`, ...(this.implicit.get(name) ?? [])];
        const values = scope.values.get(name);
        if (values.length === 0) {
            if (!this.early.has(scope.node)) this.early.set(scope.node, new Map());
            this.early.get(scope.node).set(name, scope);
        }
        return values;
    }

    resolveAnew(node) {
        switch (node.type) {
            case "MemberExpression": {
                const name = node.computed ? this.fold(node.property) : node.property.name;
                return typeof name === "string" ? this.resolve(node.object).map((base) => member(base, name)) : [];
            }
            case "ChainExpression":
            case "AwaitExpression":
                return this.resolve(node.expression ?? node.argument).map((name) => name.replace(/^import:/, ""));
            case "AssignmentExpression": return this.resolve(node.right);
            case "SequenceExpression": return this.resolve(node.expressions.at(-1));
            case "ConditionalExpression": return [...this.resolve(node.consequent), ...this.resolve(node.alternate)];
            case "LogicalExpression": return [...this.resolve(node.left), ...this.resolve(node.right)];
            case "ImportExpression": return this.module(node.source, "import:");
            case "CallExpression":
            case "NewExpression": return this.resolveCall(node);
        }
        return [];
    }

    module(source, prefix = "") {
        const name = source ? this.fold(source) : UNKNOWN;
        return typeof name === "string" ? [prefix + withoutPrefix(name)] : [];
    }

    resolveCall(node) {
        if (node.callee.type === "Import" || node.callee.type === "Super") return [];
        const found = [];
        for (const name of this.resolve(node.callee)) {
            const plain = bare(name);
            if (plain === "module.createRequire") found.push("module.createRequire()");
            else if (LOADERS.has(plain)) found.push(...this.module(node.arguments[plain === "require.call" ? 1 : 0]));
            else if (plain === "Reflect.get" && node.arguments.length > 1) {
                const key = this.fold(node.arguments[1]);
                if (typeof key === "string") found.push(...this.resolve(node.arguments[0]).map((base) => member(base, key)));
            } else if (plain.endsWith(".bind")) found.push(name.slice(0, -5));
            else if (name === "util.promisify" && node.arguments.length > 0) found.push(...this.resolve(node.arguments[0]));
        }
        return found;
    }

    // Statements and expressions, in the order of the program.

    visit(node) {
        if (/Statement$|Declaration$/.test(node.type)) this.resolved.clear();
        const handler = HANDLERS[node.type];
        if (handler) handler.call(this, node);
        for (const child of others(node, handler ? FIELDS[node.type] : NONE)) this.visit(child);
    }

    name(node) {
        const names = this.resolve(node);
        for (const name of names) this.addName(name, node);
        return names.length > 0;
    }

    visitPattern(pattern) {
        switch (pattern?.type) {
            case undefined: case "Identifier": break;
            case "AssignmentPattern": this.visitPattern(pattern.left); this.visit(pattern.right); break;
            case "RestElement": this.visitPattern(pattern.argument); break;
            case "ArrayPattern": for (const one of pattern.elements) this.visitPattern(one); break;
            case "ObjectPattern": for (const one of pattern.properties) this.visitPattern(one); break;
            case "Property":
                if (pattern.computed) this.visit(pattern.key);
                this.visitPattern(pattern.value);
                break;
            default: this.visit(pattern);
        }
    }

    /* Binds the names of a pattern to parts of a value. */
    assign(pattern, values, constant = UNKNOWN) {
        if (!pattern) return;
        if (pattern.type === "AssignmentPattern") this.assign(pattern.left, values);
        else if (pattern.type === "Identifier") this.bind(pattern.name, values, constant);
        else if (pattern.type === "ObjectPattern") {
            for (const property of pattern.properties) {
                if (property.type === "RestElement") { this.assign(property.argument, values); continue; }
                const key = property.computed ? this.fold(property.key) : property.key.name ?? property.key.value;
                const parts = typeof key === "string" ? values.map((base) => member(base, key)) : [];
                for (const part of parts) this.addName(part, property);
                this.assign(property.value, parts);
            }
        } else if (pattern.type === "ArrayPattern") for (const one of pattern.elements) this.assign(one, []);
    }

    bind(name, values, constant) {
        const scope = this.scope.of(name);
        this.resolved.clear();
        if (!scope) { // of the global object
            this.implicit.set(name, [...new Set([...(this.implicit.get(name) ?? []), ...values])].slice(0, VALUES_MAX));
            return;
        }
        scope.values.set(name, [...new Set([...scope.values.get(name), ...values])].slice(0, VALUES_MAX));
        scope.constants.set(name, !scope.constants.has(name) || scope.constants.get(name) === constant ? constant : UNKNOWN);
    }

    literal(node, value = node.value) { if (this.wantsLiterals && typeof value === "string") this.add("literal", value, node); }

    folded(node) {
        const value = this.wantsLiterals ? this.fold(node) : undefined;
        this.literal(node, value);
        // The parts of a string are none of their own.
        const wanted = this.wantsLiterals;
        this.wantsLiterals = wanted && typeof value !== "string";
        for (const child of children(node)) this.visit(child);
        this.wantsLiterals = wanted;
    }

    call(node) {
        if (node.callee.type === "MemberExpression" || node.callee.type === "Identifier" || node.callee.type === "SequenceExpression") {
            for (const name of this.resolve(node.callee)) this.called(name, node);
        }
        if (isConstructorOfFunction(node.callee) && node.arguments.length > 0) this.evaluate("Function", node);
        for (const name of this.resolveCall(node)) if (!name.endsWith("()")) this.addName(name, node);
        this.then(node);
        this.folded(node);
    }

    called(name, node) {
        const function_ = bare(name).replace(/\.(call|apply)$/, "");
        if (LOADERS.has(function_)) {
            const source = node.arguments[name.endsWith(".call") ? 1 : 0];
            const text = source ? this.fold(source) : UNKNOWN;
            if (typeof text === "string") this.addImport(text, node);
            else if (source) this.add("dynamic", function_, node);
        } else if (EVALUATORS.has(function_) && node.arguments.length > 0) this.evaluate(function_, node);
    }

    /* import(...).then((module) => ...) */
    then(node) {
        const callee = node.callee;
        if (callee.type !== "MemberExpression" || callee.computed || callee.property.name !== "then" || !node.arguments[0]) return;
        const modules = this.resolve(callee.object).filter((name) => name.startsWith("import:")).map((name) => name.slice(7));
        const function_ = node.arguments[0];
        if (modules.length === 0 || !/Function/.test(function_.type) || !function_.params[0]) return;
        this.awaited = { node: function_, modules };
    }

    evaluate(name, node) {
        const source = name === "Function" ? node.arguments.at(-1) : node.arguments[0];
        if (!source || /Function/.test(source.type) || (TIMERS.has(name) && typeof this.fold(source) !== "string")) return;
        const text = this.fold(source);
        if (typeof text !== "string" || this.depth === DEPTH_MAX) {
            this.add("dynamic", name, node);
            return;
        }
        let tree;
        try {
            tree = this.program(text, "script");
        } catch {
            return; // it fails when it is run
        }
        const place = this.place;
        this.place ??= this.placeOf(node);
        this.depth++;
        this.inScope(new Scope(this.scope, true), () => this.body(tree.body));
        this.depth--;
        this.place = place;
    }
}

const HANDLERS = {
    ImportDeclaration(node) {
        const specifier = node.source.value, name = withoutPrefix(specifier);
        this.addImport(specifier, node);
        for (const one of node.specifiers) {
            const values = one.type === "ImportSpecifier" && (one.imported.name ?? one.imported.value) !== "default"
                ? [member(name, one.imported.name ?? one.imported.value)] : [name];
            if (one.type === "ImportSpecifier") for (const value of values) this.add("name", value, one);
            this.bind(one.local.name, values, UNKNOWN);
        }
    },
    ExportNamedDeclaration(node) {
        if (node.source) this.addImport(node.source.value, node);
        if (node.declaration) this.visit(node.declaration);
    },
    ExportAllDeclaration(node) { this.addImport(node.source.value, node); },
    ImportExpression(node) {
        const text = this.fold(node.source);
        if (typeof text === "string") this.addImport(text, node);
        else this.add("dynamic", "import", node);
        this.visit(node.source);
    },
    VariableDeclaration(node) {
        for (const one of node.declarations) {
            if (one.init) this.visit(one.init);
            this.visitPattern(one.id);
            this.assign(one.id, one.init ? this.resolve(one.init) : [], one.init ? this.fold(one.init) : UNKNOWN);
        }
    },
    AssignmentExpression(node) {
        this.visit(node.right);
        if (node.operator === "=") {
            this.visitPattern(node.left);
            this.assign(node.left, this.resolve(node.right), this.fold(node.right));
        } else if (node.left.type === "Identifier") {
            const constant = node.operator === "+=" ? this.fold({ type: "BinaryExpression", operator: "+", left: node.left, right: node.right }) : UNKNOWN;
            this.scope.of(node.left.name)?.constants.set(node.left.name, constant);
        } else this.visit(node.left);
    },
    BlockStatement(node) { this.inScope(this.newScope(this.scope, false, node), () => { this.hoist(node.body); for (const one of node.body) this.visit(one); }); },
    ForStatement(node) { HANDLERS.loop.call(this, node, node.init); },
    ForInStatement(node) { HANDLERS.loop.call(this, node, node.left); },
    ForOfStatement(node) { HANDLERS.loop.call(this, node, node.left); },
    loop(node, declaration) {
        this.inScope(this.newScope(this.scope, false, node), () => {
            if (declaration?.type === "VariableDeclaration") this.declareAll(declaration, declaration.kind === "var" ? this.scope.functionScope() : this.scope);
            for (const child of children(node)) this.visit(child);
        });
    },
    SwitchStatement(node) {
        this.visit(node.discriminant);
        this.inScope(this.newScope(this.scope, false, node), () => {
            this.hoist(node.cases.flatMap((one) => one.consequent));
            for (const one of node.cases) this.visit(one);
        });
    },
    StaticBlock(node) { HANDLERS.BlockStatement.call(this, node); },
    ClassExpression(node) {
        this.inScope(this.newScope(this.scope, false, node), () => {
            if (node.id) this.scope.declare(node.id.name);
            for (const child of children(node)) if (child !== node.id) this.visit(child);
        });
    },
    CatchClause(node) {
        this.inScope(this.newScope(this.scope, false, node), () => {
            for (const name of bound(node.param)) this.scope.declare(name);
            this.visitPattern(node.param);
            this.visit(node.body);
        });
    },
    /* What only sometimes runs may be what only sometimes can. */
    IfStatement(node) {
        this.visit(node.test);
        this.guarded++;
        for (const child of [node.consequent, node.alternate]) if (child) this.visit(child);
        this.guarded--;
    },
    TryStatement(node) {
        this.guarded += Boolean(node.handler);
        this.visit(node.block);
        this.guarded -= Boolean(node.handler);
        for (const child of [node.handler, node.finalizer]) if (child) this.visit(child);
    },
    FunctionDeclaration(node) { this.function(node); },
    FunctionExpression(node) { this.function(node); },
    ArrowFunctionExpression(node) {
        if (this.awaited?.node === node) {
            const scope = this.newScope(this.scope, true, node.params[0]);
            for (const name of bound(node.params[0])) scope.declare(name);
            this.inScope(scope, () => { this.assign(node.params[0], this.awaited.modules); this.function({ ...node, params: node.params.slice(1) }); });
            return;
        }
        this.function(node);
    },
    Property(node) {
        if (node.computed) this.visit(node.key);
        this.visit(node.value);
    },
    MethodDefinition(node) {
        if (node.computed) this.visit(node.key);
        this.visit(node.value);
    },
    PropertyDefinition(node) {
        if (node.computed) this.visit(node.key);
        if (node.value) this.visit(node.value);
    },
    LabeledStatement(node) { this.visit(node.body); },
    BreakStatement() {},
    ContinueStatement() {},
    MetaProperty() {},
    Identifier(node) { this.name(node); },
    MemberExpression(node) {
        const isNamed = this.name(node);
        if (!isNamed && node.computed && this.resolve(node.object).some((name) => /^(global:globalThis|(global:)?process)$/.test(name))) {
            if (typeof this.fold(node.property) !== "string") this.add("dynamic", `${bare(this.resolve(node.object)[0])}[...]`, node);
        }
        // Of a name that was found, what is inside of it: the call that loads the module.
        let object = node.object;
        while (isNamed && object.type === "MemberExpression" && !object.computed) object = object.object;
        if (!isNamed || object.type !== "Identifier") this.visit(object);
        if (node.computed) this.visit(node.property);
    },
    CallExpression(node) { this.call(node); },
    NewExpression(node) { this.call(node); },
    Literal(node) { this.literal(node); },
    TemplateLiteral(node) { this.folded(node); },
    BinaryExpression(node) { this.folded(node); },
};

/* Facts of a program; a text without import and export is a script. */
function check(text, wantsLiterals = false, wantsMissing = false, known = []) {
    try {
        const checker = new Checker(wantsLiterals, wantsMissing, known, text.split(/\r\n|[\n\r\u2028\u2029]/));
        let tree;
        try {
            tree = checker.program(text, "module");
        } catch (error) {
            tree = checker.program(text, "script"); // octal numbers, with, delete of a name
        }
        checker.whole(tree);
        return { facts: checker.facts, more: checker.more };
    } catch (error) {
        return { unparsed: `${error.name}: ${error.message}`.slice(0, 200) };
    }
}

module.exports = { check };
