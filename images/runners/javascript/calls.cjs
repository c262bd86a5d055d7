/*
 * Calls of functions of the program that has opened the session: the module `tools`.
 *
 * The server sends this to the interpreter of a session that has functions, and session.cjs executes it. sandbox/call_frame.h
 * has the frames. A read of the socket for answers waits in a thread of libuv as long as calls are open. While nothing
 * but that is due, the interpreter says so: its clock stands still.
 */
'use strict';
const { Buffer } = require('node:buffer');
const { read, writeSync } = require('node:fs');
const Module = require('node:module');
const process = require('node:process');

const BEGIN = 1, RESULT = 2, WAIT = 5;
const FIRST = 1, LAST = 2, NAME_SHIFT = 8, ERROR_SHIFT = 8;
const HEADER = 16, FRAME_MAX = 4096, PACKET_MAX = 65536;
const NAME_MAX = 128, BYTES_MAX = 1 << 20, AT_ONCE = 8;
const CALLS_OF_CELL = 22; // bits of a call's number; the others are its cell's
const PATIENCE_MS = 20; // an answer that comes sooner is not worth stopping the clock
const AGAIN_MS = 100;
const URL = 'code-sandbox:tools';
const OWN = 'FSReqCallback'; // what the read is called among resources

// What a cell may replace is taken now.
const { setTimeout, clearTimeout, isFinite } = globalThis;
const { parse, stringify } = JSON;
const { captureStackTrace } = Error;
const { concat, allocUnsafe, from } = Buffer;
const { cpuUsage } = process;
const now = performance.now.bind(performance);
const resourcesOf = process.getActiveResourcesInfo?.bind(process);
const NONE = allocUnsafe(0);

class ToolError extends Error {
  constructor(name, text, type = 'ToolError') {
    super(text);
    for (const [member, value] of Object.entries({ name, text, type })) hide(this, member, value);
  }
}
class ToolRefused extends ToolError {}
class ToolTimeout extends ToolError {}
class ToolLimit extends ToolError {}
const KINDS = [ToolError, ToolRefused, ToolTimeout, ToolLimit];

function hide(object, name, value) {
  Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
}

/* The stack of the call `at`, behind the error's own first line. */
function place(error, at) {
  const frames = typeof at.stack === 'string' ? at.stack.replace(/^[^]*?(?=\n {4}at |$)/, '') : '';
  hide(error, 'stack', `${error.constructor.name}: ${error instanceof ToolError ? `${error.name}: ` : ''}${error.message}${frames}`);
  return error;
}

function failure(Kind, { at, name }, text, type = Kind.name) {
  const error = new Kind(name, text, type);
  if (type !== Kind.name && type !== 'ToolError') hide(error, 'message', `${type}: ${text}`);
  return place(error, at);
}

// Frames.

const way = { results: -1, calls: -1, resources: [], cell: 0, made: 0 };
const open = new Map(); // number: a call of the present cell
const waiting = []; // calls without a place
const packet = allocUnsafe(PACKET_MAX);
let isReading = false;
let timer = null;
let lookedAt = 0, used = 0; // when it was looked last, and the processor time until then
let threads = 0; // workers of the cells, which are no resources

/* Each frame at once, and no more than is atomic, as this process may be killed. */
function writeFrame(kind, number, flags, bytes) {
  const frame = allocUnsafe(HEADER + bytes.length);
  frame.set(new Uint8Array(new Uint32Array([kind, number, bytes.length, flags]).buffer));
  frame.set(bytes, HEADER);
  writeSync(way.calls, frame);
}

function writeCall(number, name, text) {
  let rest = concat([name, text]);
  let flags = FIRST | name.length << NAME_SHIFT;
  do {
    const piece = rest.subarray(0, FRAME_MAX - HEADER);
    rest = rest.subarray(piece.length);
    writeFrame(BEGIN, number, flags | (rest.length === 0 ? LAST : 0), piece);
    flags = 0;
  } while (rest.length > 0);
}

/* Not the number of a call of another cell, whose answer may still come. */
function newNumber() {
  way.made = (way.made + 1) % (1 << CALLS_OF_CELL);
  return (way.cell % (1 << 32 - CALLS_OF_CELL) * (1 << CALLS_OF_CELL) + way.made) >>> 0;
}

/* The end of a cell may come at the beginning of any function: then it does not seem to read, and the next call begins. */
function readOn() {
  if (isReading || open.size === 0) return;
  read(way.results, packet, 0, PACKET_MAX, null, (error, length) => {
    isReading = false;
    if (error ? error.code !== 'EINTR' && error.code !== 'EAGAIN' : length < HEADER) return; // the session has ended
    if (!error) take(length);
    readOn();
  });
  isReading = true;
}

/* Those of calls that nobody waits for are passed over. */
function take(length) {
  const [kind, number, , flags] = new Uint32Array(packet.buffer.slice(packet.byteOffset, packet.byteOffset + HEADER));
  const call = open.get(number);
  if (call === undefined) return;
  call.parts.push(from(packet.subarray(HEADER, length)));
  if (!(flags & LAST)) return;
  open.delete(number);
  settle(call, kind, flags >>> ERROR_SHIFT & 0xff, concat(call.parts).toString());
  while (waiting.length > 0 && open.size < AT_ONCE) start(waiting.shift());
  lookLater(PATIENCE_MS);
}

function settle(call, kind, error, text) {
  try {
    if (kind === RESULT) return call.resolve(parse(text));
    const { text: told = 'it failed', type } = parse(text || '{}');
    return call.reject(failure(KINDS[error] ?? ToolError, call, told, type));
  } catch (thrown) {
    return call.reject(thrown);
  }
}

// The clock.

function lookLater(milliseconds) {
  clearTimeout(timer);
  timer = null;
  if (open.size === 0 || !resourcesOf) return;
  timer = setTimeout(look, milliseconds).unref();
  lookedAt = now();
  used = processorTime();
}

/* In milliseconds. */
function processorTime() {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

/* Again and again, while calls are open: it says that it waits if nothing else is due. */
function look() {
  timer = null;
  if (isReading && onlyWaits()) writeFrame(WAIT, open.size, 0, NONE);
  lookLater(AGAIN_MS);
}

/* Beside what the runner itself has, and the read. What libuv's threads compute is not always among the resources. */
function onlyWaits() {
  if (threads > 0 || processorTime() - used > 1 + (now() - lookedAt) / 20) return false;
  const left = [...way.resources, OWN];
  return resourcesOf().every((name) => {
    const place = left.indexOf(name);
    if (place >= 0) left.splice(place, 1);
    return place >= 0;
  });
}

// Calling.

function checked(key, value) {
  if (typeof value === 'number' && !isFinite(value)) throw new TypeError(`${value} is no value of JSON`);
  return value;
}

/* A promise of the value. `find` gives the arguments; `caller` is left out of stacks. */
function ask(caller, name, find) {
  const at = {};
  captureStackTrace(at, caller);
  return new Promise((resolve, reject) => {
    const made = { name: String(name), at, resolve, reject, parts: [] };
    try {
      encode(made, find());
      if (open.size < AT_ONCE) start(made);
      else waiting.push(made);
    } catch (error) {
      reject(error instanceof ToolError ? error : place(error, at));
    }
  });
}

function encode(made, values) {
  made.bytes = from(made.name);
  if (made.bytes.length === 0 || made.bytes.length > NAME_MAX) {
    throw failure(ToolRefused, made, `a name has 1 to ${NAME_MAX} bytes`);
  }
  made.text = from(stringify(values, checked) ?? 'null');
  if (made.text.length > BYTES_MAX) {
    throw failure(ToolLimit, made, 'its arguments have more than 1 MiB as JSON, the most that there may be');
  }
}

function start(made) {
  const number = newNumber();
  open.set(number, made);
  try {
    writeCall(number, made.bytes, made.text);
  } catch (error) {
    open.delete(number);
    made.reject(error);
  }
  readOn();
  lookLater(PATIENCE_MS);
}

/* The function of exactly this name. */
function call(name, given) {
  return ask(call, name, () => given ?? {});
}

function beginCell(cell, functions) {
  endCell();
  if (functions !== told) fill(functions);
  way.cell = cell;
  way.made = 0;
}

/* What is open is not settled any more: a rejection would be that of another cell. */
function endCell() {
  open.clear();
  waiting.length = 0;
  clearTimeout(timer);
}

// The module.

const RESERVED = new Set(('await break case catch class const continue debugger default delete do else enum export extends false ' +
  'finally for function if implements import in instanceof interface let new null package private protected public return ' +
  'static super switch this throw true try typeof var void while with yield then').split(' '));

/* As a name of JavaScript: `-` becomes `_`, keywords get one, and `then`, for which modules are taken for promises. */
function attributeOf(name) {
  const plain = name.replace(/\W/g, '_');
  if (/^\d/.test(plain)) return `_${plain}`;
  return RESERVED.has(plain) ? `${plain}_` : plain;
}

function isPlain(value) {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/* One plain object has the arguments; others are named in the order of the function's schema. */
function bind(attribute, parameters, values) {
  if (values.length === 1 && isPlain(values[0])) return values[0];
  if (values.length > parameters.length) {
    const known = parameters.length > 0 ? `takes ${parameters.length} arguments without a name` : 'takes one object with its arguments';
    throw new TypeError(`${attribute}() ${known}, and got ${values.length}`);
  }
  return Object.fromEntries(values.map((value, i) => [parameters[i], value]));
}

function makeFunction(attribute, { name, description, inputSchema }) {
  const parameters = Object.keys(inputSchema?.properties ?? {});
  const made = { [attribute](...values) {
    return ask(made, name, () => bind(attribute, parameters, values));
  } }[attribute];
  if (description) hide(made, 'description', description);
  return made;
}

const OWN_NAMES = { call, search, ToolError, ToolRefused, ToolTimeout, ToolLimit };
const tools = Object.create(null);
let told = null; // JSON: the functions that there are
let filled = 0; // how often it was another
let known = []; // the same

/* Those whose name or description has each of the words. */
function search(words) {
  const wanted = String(words).toLowerCase().split(/\s+/).filter(Boolean);
  return known.map(({ name, description = '' }) => ({ name, description })).filter(({ name, description }) =>
    wanted.every((word) => `${name} ${description}`.toLowerCase().includes(word)));
}

/* Whoever has the module has these now. What cells have taken from it before stays as it was. */
function fill(functions) {
  told = functions;
  known = parse(functions);
  for (const name of Object.getOwnPropertyNames(tools)) delete tools[name];
  Object.assign(tools, OWN_NAMES);
  const names = new Set(known.map(({ name }) => name));
  for (const one of known) {
    let attribute = attributeOf(one.name);
    if (names.has(attribute) && attribute !== one.name) continue; // that of exactly this name
    while (Object.hasOwn(tools, attribute)) attribute += '_';
    tools[attribute] = makeFunction(attribute, one);
  }
  hide(tools, 'default', tools); // of an import declaration
  filled += 1;
}

/* The module of ECMAScript, whose names are fixed, as the functions are now. */
function sourceOf() {
  const names = Object.keys(tools);
  return ["import { createRequire } from 'node:module';", "const tools = createRequire('file:///')('tools');", 'export default tools;',
    ...names.map((name, i) => `const tool${i} = tools[${stringify(name)}];\nexport { tool${i} as ${name} };`)].join('\n');
}

/* To require() of all files, and to their import where Node can be told; cells import by globals.cjs. */
function offer() {
  const load = Module._load;
  Module._load = function (request, ...rest) {
    return request === 'tools' ? tools : Reflect.apply(load, this, [request, ...rest]);
  };
  Module.registerHooks?.({
    resolve: (specifier, context, next) =>
      specifier === 'tools' ? { url: `${URL}?${filled}`, format: 'module', shortCircuit: true } : next(specifier, context),
    load: (url, context, next) =>
      url.startsWith(`${URL}?`) ? { format: 'module', source: sourceOf(), shortCircuit: true } : next(url, context),
  });
}

function countThreads() {
  process.on('worker', (worker) => {
    threads += 1;
    worker.once('exit', () => { threads -= 1; });
  });
}

/* What is to be called before each cell. `resources`: those of the runner. */
function startCalls(results, calls, resources) {
  Object.assign(way, { results, calls, resources });
  offer();
  countThreads();
  return { tools, beginCell, endCell, reads: () => isReading };
}

module.exports = { startCalls };
