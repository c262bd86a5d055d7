/*
 * What V8's REPL mode lacks: import declarations, import() and import.meta become calls of IMPORT and META, globals of
 * globals.cjs. The constants of a cell become variables, as V8 lets a later cell declare `let` again, but not as
 * `const` or the other way round. Lines stay where they are. What the parser does not understand is left to V8,
 * and to its message.
 */
'use strict';
const process = require('node:process');
const { stripTypeScriptTypes } = require('node:module'); // since Node 22.13
const acorn = require('./acorn/acorn.js');

const IMPORT = '$imprt', META = '$import_meta'; // the first as long as `import`
const OPTIONS = { ecmaVersion: 'latest', sourceType: 'script', allowImportExportEverywhere: true,
  allowAwaitOutsideFunction: true, allowHashBang: true };

/*
 * { code, shown }: whether the value is one to be shown, that of a last expression without a semicolon. Or { error }
 * with `place`, if a cell with import declarations has an error that V8 would not find: it stops at the first one.
 */
function parse(source) {
  let tree;
  const literal = objectLiteral(source);
  if (literal) return { code: literal, shown: true };
  try {
    tree = acorn.parse(source, OPTIONS);
  } catch (error) {
    const plain = withoutTypes(source);
    if (plain !== null) return parse(plain);
    if (error.loc && /^\s*import\b\s*[^\s(.]/m.test(source)) return { error: syntaxError(error) };
    return { code: source, shown: !/;\s*$/.test(source) };
  }
  const last = tree.body[tree.body.length - 1];
  const shown = last?.type === 'ExpressionStatement' && source[last.end - 1] !== ';';
  return { code: /\b(import|const)\b/.test(source) ? replace(source, tree) : source, shown };
}

/* TypeScript that is no JavaScript: without its types, which become blanks. Null: it is none, or Node cannot. */
function withoutTypes(source) {
  try {
    const plain = strip(source);
    acorn.parse(plain, OPTIONS);
    return plain === source ? null : plain;
  } catch {
    return null;
  }
}

/* Node warns once that this is experimental, which is none of the cell's. */
function strip(source) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/* `{a: 1}` is a block with a label, but hardly meant. */
function objectLiteral(source) {
  if (!/^\s*\{[^]*\}\s*$/.test(source)) return null;
  try {
    acorn.parse(`(${source})`, OPTIONS);
  } catch {
    return null;
  }
  return /\bimport\b/.test(source) ? null : `(${source})`;
}

function syntaxError({ message, loc }) {
  const error = new SyntaxError(message.replace(/ \(\d+:\d+\)$/, ''));
  error.stack = `SyntaxError: ${error.message}`;
  Object.defineProperty(error, 'place', { value: { line: loc.line, column: loc.column } });
  return error;
}

function replace(source, tree) {
  const pieces = [];
  let done = 0;
  const found = changes(source, tree).sort((a, b) => a.start - b.start);
  for (let i = 0; i < found.length; i++) {
    pieces.push(source.slice(done, found[i].start), found[i].text);
    done = found[i].end;
  }
  return pieces.join('') + source.slice(done);
}

function changes(source, tree) {
  const found = tree.body.filter(({ type, kind }) => type === 'VariableDeclaration' && kind === 'const')
    .map(({ start }) => ({ start, end: start + 'const'.length, text: 'let  ' }));
  if (!/\bimport\b/.test(source)) return found;
  const waiting = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (node.type === 'ImportDeclaration') {
      found.push({ start: node.start, end: node.end, text: declaration(source, node) });
      continue;
    }
    if (node.type === 'ImportExpression') {
      found.push({ start: node.start, end: node.start + 'import'.length, text: IMPORT });
    } else if (node.type === 'MetaProperty' && node.meta.name === 'import') {
      found.push({ start: node.start, end: node.end, text: META });
    }
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type === 'string') waiting.push(child);
      }
    }
  }
  return found;
}

/* An import declaration as one of variables, which the other module cannot change later. */
function declaration(source, node) {
  const properties = [];
  const names = [];
  let space = null;
  for (const { type, imported, local } of node.specifiers) {
    if (type === 'ImportNamespaceSpecifier') {
      space = local.name;
      continue;
    }
    const name = type === 'ImportDefaultSpecifier' ? 'default' : imported.name ?? imported.value;
    names.push(name);
    properties.push(`${JSON.stringify(name)}: ${local.name}`);
  }
  const attributes = (node.attributes ?? []).map(({ key, value }) =>
    `${JSON.stringify(key.name ?? key.value)}: ${value.raw}`);
  const options = attributes.length > 0 ? `{ with: { ${attributes.join(', ')} } }` : 'undefined';
  const call = `await ${IMPORT}(${node.source.raw}, ${options}, ${JSON.stringify(names)})`;
  const pattern = `{ ${properties.join(', ')} }`;
  const lines = '\n'.repeat(source.slice(node.start, node.end).split('\n').length - 1);
  if (space === null && properties.length === 0) return `${call};${lines}`;
  if (space === null) return `let ${pattern} = ${call};${lines}`;
  return `let ${space} = ${call}${properties.length > 0 ? `, ${pattern} = ${space}` : ''};${lines}`;
}

module.exports = { parse, IMPORT, META };
