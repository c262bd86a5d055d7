/*
 * The interpreter of a session: runs the cells that the server sends, one after another, in V8's REPL mode.
 *
 * The descriptors and frames are those of protocol.cjs; docs/design.md has the protocol. A cell may forge all of
 * it, and then lies about itself only. Node runs this with --no-force-async-hooks-checks: an interrupt may end a
 * callback of a timer without the books that Node keeps of it.
 *
 * A thread (watcher.cjs) reads the channel, as this one may be in a cell's endless loop. `state` says who may do
 * what with the cell: see claim(). Whatever runs here while the watcher is ending JavaScript may end midway;
 * its message "ended" then finishes the cell.
 */
'use strict';
const { Buffer } = require('node:buffer');
const fs = require('node:fs');
const inspector = require('node:inspector');
const path = require('node:path');
const process = require('node:process');
const { inspect, types: { isPromise } } = require('node:util');
const { promiseHooks } = require('node:v8');
const { compileFunction } = require('node:vm');
const { Worker, MessageChannel } = require('node:worker_threads');
const protocol = require('./protocol.cjs');
const { parse } = require('./rewrite.cjs');
const { makeGlobals } = require('./globals.cjs');
const { describe, cleanStacks } = require('./errors.cjs');
const { watch } = require('./watcher.cjs');

const { RUN, INTERRUPT, READY, DONE, CODE, ANSWERS, RESULTS, CALLS, CODE_OFFSET, FUNCTIONS_OFFSET, FRAME_BYTES, HAS_CALLS, PACKET_BYTES,
  PACKET_LAST, FREE, RUNNING, ASKED, ENDING, word } = protocol;
const FINISHED = 0, FAILED = 1, INTERRUPTED = 2, EXITED = 3, ABANDONED = 4;
const SHOWN = { depth: 4, maxArrayLength: 100, maxStringLength: 1 << 20 };

// What a cell may replace is taken now.
const { readSync, writeSync } = fs;
const { apply } = Reflect;
const { then } = Promise.prototype;
const { compareExchange, load, notify, store } = Atomics;
const later = setImmediate;
const leave = process.exit.bind(process);
const { kill, reallyExit } = process;
const globals = makeGlobals(path.join(process.cwd(), 'main.js'));
const { stdout, stderr } = globals.streams;
const { write } = stdout;
const { byteLength } = Buffer;
const BLANKS = { __proto__: null, ' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true };

const frame = new Uint32Array(4);
const state = new Int32Array(new SharedArrayBuffer(4));
const session = new inspector.Session();
const sources = new Map(); // of the cells, by number
const pending = new Set(); // cells with a promise that the inspector waits for
let unhook = () => {};
let cell = null; // the current one: number, shown, outcome, released
let fetched; // the value that hook() was called with
let hookId; // of hook(), for the inspector
let calls = null; // what calls.cjs has of them

function send(kind, number, a, b) {
  try {
    frame[0] = kind;
    frame[1] = number;
    frame[2] = a;
    frame[3] = b;
    writeSync(ANSWERS, frame);
  } catch {
    // Without its channel. An orderly end would wait for the watcher, which waits for the channel.
    apply(kill, process, [process.pid, 'SIGKILL']);
  }
}

function print(stream, text) {
  try {
    apply(write, stream, [text]);
  } catch {
    // nobody reads it
  }
}

// Who has the cell.

/* True if the cell is this thread's to finish; the watcher will not touch it any more. */
function claim(number) {
  if (!change(word(number, RUNNING)) && !change(word(number, ASKED))) return false;
  notify(state, 0);
  return true;
}

/* Then what JavaScript raises here may be the end itself, and the watcher will tell. */
function isEnding() {
  return (load(state, 0) & 3) === ENDING;
}

function change(from) {
  return compareExchange(state, 0, from, FREE) === from;
}

// Values.

function hook(value) {
  fetched = value;
}

/* Calls `use` with the value of a RemoteObject. */
function withValue(remote, use) {
  const { type, objectId, unserializableValue, value } = remote;
  if (objectId === undefined) {
    if (unserializableValue === undefined) return use(type === 'undefined' ? undefined : value);
    return use(unserializableValue === '-0' ? -0 :
      type === 'bigint' ? BigInt(unserializableValue.slice(0, -1)) : Number(unserializableValue));
  }
  return session.post('Runtime.callFunctionOn', {
    objectId: hookId, functionDeclaration: 'function (value) { this(value) }', arguments: [{ objectId }],
  }, () => {
    const found = fetched;
    fetched = undefined;
    use(found);
  });
}

/* Without the blanks that the server leaves out at the end. */
function shownBytes(text) {
  let blanks = 0;
  while (blanks < text.length && BLANKS[text[text.length - 1 - blanks]]) blanks++;
  return byteLength(text) - blanks;
}

function show(value) {
  if (value === undefined || !cell.shown) return finish(cell, FINISHED);
  let text;
  try {
    text = inspect(value, SHOWN);
  } catch (error) {
    return fail(cell, error);
  }
  print(stdout, text + '\n');
  return finish(cell, FINISHED, shownBytes(text));
}

// A cell.

function run(number, length, wish) {
  if (wish & HAS_CALLS) beginCalls(number, length);
  cell = { number, shown: true, outcome: null, detail: 0, released: false };
  const mine = cell;
  globals.prepare();
  listen();
  const source = readCode(length);
  sources.set(number, source);
  const parsed = parse(source);
  if (parsed.error) return fail(mine, parsed.error, parsed.error.place);
  mine.shown = parsed.shown;
  /*
   * The first promise is that of the cell itself, and is kept until it settles: were it collected before, the
   * inspector would tell that in the middle of the collection, and Node would abort.
   */
  unhook = promiseHooks.onInit((promise) => { mine.promise ??= promise; });
  pending.add(mine);
  session.post('Runtime.evaluate', {
    expression: `${parsed.code}\n//# sourceURL=<cell_${number}>`,
    replMode: true, awaitPromise: true, objectGroup: 'cell', silent: true,
  }, (error, answer) => {
    pending.delete(mine);
    if (mine === cell && mine.outcome === null) evaluated(mine, error, answer);
  });
  unhook();
}

/* The program for it comes over their channel; what functions there are, behind the code. */
function beginCalls(number, length) {
  if (calls === null) {
    const module = { exports: {} };
    compileFunction(readMessage(), ['require', 'module'], { filename: __filename })(require, module);
    calls = module.exports.startCalls(RESULTS, CALLS, process.getActiveResourcesInfo?.());
    globals.own.set('tools', calls.tools);
  }
  const [bytes] = new Uint32Array(new Uint8Array(readMemory(4, FUNCTIONS_OFFSET)).buffer);
  calls.beginCell(number, readMemory(bytes, CODE_OFFSET + length).toString());
}

function readMessage() {
  const parts = [];
  const packet = Buffer.alloc(PACKET_BYTES);
  const header = new Uint32Array(packet.buffer, packet.byteOffset, 4);
  for (;;) {
    const count = readSync(RESULTS, packet, 0, PACKET_BYTES, null);
    parts.push(Buffer.from(packet.subarray(FRAME_BYTES, count)));
    if (count < FRAME_BYTES || header[3] & PACKET_LAST) return Buffer.concat(parts).toString();
  }
}

function readMemory(length, offset) {
  const bytes = Buffer.alloc(length);
  let count = 0;
  while (count < length) {
    const more = readSync(CODE, bytes, count, length - count, offset + count);
    if (more === 0) break;
    count += more;
  }
  return bytes.subarray(0, count);
}

function readCode(length) {
  return readMemory(length, CODE_OFFSET).toString().replace(/^\ufeff/, '');
}

function evaluated(mine, error, answer) {
  if (error) return finish(mine, INTERRUPTED); // ended; perhaps the watcher's word of that will come
  const { result, exceptionDetails } = answer;
  if (exceptionDetails) {
    const { lineNumber, columnNumber, stackTrace, exception } = exceptionDetails;
    const place = stackTrace || exception?.className !== 'SyntaxError' ? null :
      { line: lineNumber + 1, column: columnNumber };
    return withValue(exception ?? { type: 'undefined' }, (thrown) => fail(mine, thrown, place));
  }
  return withValue(result, (value) => {
    if (!isPromise(value)) return show(value);
    const settled = (use) => (it) => mine === cell && mine.outcome === null && use(it);
    return apply(then, value, [settled(show), settled((thrown) => fail(mine, thrown))]);
  });
}

/* `place`: of an error of the parser, which is in no stack. */
function fail(mine, thrown, place) {
  if (isEnding()) return;
  print(stderr, describe(thrown, sources, mine.number, place) + '\n');
  return finish(mine, FAILED);
}

/* DONE follows when all that is due at once has been done: a rejection that nobody handles, say. */
function finish(mine, outcome, detail = 0) {
  if (mine.outcome !== null) return;
  mine.outcome = outcome;
  mine.detail = detail;
  later(conclude, mine);
}

function conclude(mine) {
  if (mine !== cell || mine.outcome === null) return;
  if (!mine.released && !claim(mine.number)) return; // the watcher is about to end JavaScript, and will tell
  cell = null;
  calls?.endCell();
  session.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
  session.post('Runtime.discardConsoleEntries');
  send(DONE, mine.number, mine.outcome, mine.detail);
}

// What may happen to it.

/* The watcher has been asked to interrupt, and this thread is free: the cell only waits. */
function asked(number) {
  if (cell === null || cell.number !== number || cell.released || !claim(number)) return;
  cell.released = true;
  if (cell.outcome === null) finish(cell, ABANDONED);
}

/* The watcher has ended JavaScript. */
function ended(number) {
  unhook();
  store(state, 0, FREE);
  if (cell === null || cell.number !== number) return;
  cell.released = true;
  cell.outcome ??= INTERRUPTED;
  conclude(cell); // now: what is due at once may be what had to be ended
}

function uncaught(error) {
  if (process.listenerCount('uncaughtException') > 1) return; // the cells have their own
  if (isEnding() || cell?.outcome === EXITED) return;
  print(stderr, describe(error, sources, 0) + '\n');
  if (cell !== null && cell.outcome === null) finish(cell, FAILED);
  else if (cell !== null && cell.outcome === FINISHED) cell.outcome = FAILED;
}

function listen() {
  if (!process.listeners('uncaughtException').includes(uncaught)) process.on('uncaughtException', uncaught);
}

/* process.exit() ends the cell. As in a process, nothing after it is executed, `finally` included. */
function exit(code = process.exitCode) {
  const number = Number(code ?? 0) & 0xff;
  if (cell === null) {
    print(stderr, `process.exit(${number}) outside of a cell: the session goes on\n`);
  } else if (cell.outcome === null) {
    cell.outcome = EXITED;
    cell.detail = number;
    if (claim(cell.number)) cell.released = true;
    later(conclude, cell);
  }
  process.exitCode = undefined;
  session.post('Runtime.terminateExecution');
  for (;;);
}

// Start and end.

function message({ kind, cell: number, length, wish }) {
  if (kind === RUN) run(number, length, wish);
  else if (kind === INTERRUPT) asked(number);
  else if (kind === 'ended') ended(number);
  else if (kind === 'ready') warmUp();
}

/* The watcher, which is connected to this thread, leaves first. Node would wait for a read that nothing ends. */
function end() {
  session.disconnect();
  if (calls?.reads()) process.on('exit', () => apply(kill, process, [process.pid, 'SIGKILL']));
  process.reallyExit = reallyExit;
  leave(0);
}

/* So that the first cell costs no more than the others. */
function warmUp() {
  parse('import a from "a"; [a]');
  session.post('Runtime.evaluate', { expression: 'await 0; ({})', replMode: true, awaitPromise: true, objectGroup: 'cell' },
    (_, { result }) => withValue(result, (value) => {
      inspect(value, SHOWN);
      describe(new Error(), sources, 0);
      send(READY, 0, 0, 0);
    }));
}

cleanStacks(__filename);
session.connect();
globalThis.hook = hook;
session.post('Runtime.evaluate', { expression: 'hook' }, (_, { result }) => { hookId = result.objectId; });
delete globalThis.hook;
process.exit = exit;
process.reallyExit = exit;
listen();

const { port1, port2 } = new MessageChannel();
port1.on('message', message);
new Worker(`(${watch})()`, {
  eval: true, execArgv: [], env: {}, trackUnmanagedFds: false, transferList: [port2],
  workerData: { port: port2, state, protocol: { ...protocol, word: null } },
}).once('exit', end);
