/* What the cells find: the variables of a CommonJS module, and streams that an interrupt cannot leave half done. */
'use strict';
const { Buffer } = require('node:buffer');
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const process = require('node:process');
const { pathToFileURL } = require('node:url');
const { Writable } = require('node:stream');
const { IMPORT, META } = require('./rewrite.cjs');

const { createReadStream, openSync, writeSync } = fs;
const { assign, defineProperty } = Object;

/* A module of that name, which need not exist, imports relative to its directory. */
function makeModule(filename) {
  const module = new Module(filename, null);
  module.filename = filename;
  module.paths = Module._nodeModulePaths(path.dirname(filename));
  module._compile('module.exports = { require, load: (name, options) => ' +
    'options === undefined ? import(name) : import(name, options) }', filename);
  const { require, load } = module.exports;
  module.exports = {};
  module.id = '.';
  module.loaded = true;
  return { module, require, load };
}

function define(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

/* Of a declaration: `names` are those that the module must export. `own` are modules of the runner. */
function importer(load, own) {
  return async function (name, options, names) {
    const space = own.get(name) ?? await load(name, options);
    for (const wanted of names ?? []) {
      if (!(wanted in space)) {
        throw new SyntaxError(`The requested module '${name}' does not provide an export named '${wanted}'`);
      }
    }
    return space;
  };
}

/* Written at once and by one call, so that no state is left behind where JavaScript is ended. */
class Output extends Writable {
  constructor(fd) {
    super({ decodeStrings: false, autoDestroy: false, emitClose: false });
    this.fd = fd;
    this._type = 'pipe';
    // The descriptor itself may be closed by a cell.
    Object.defineProperty(this, 'target', { value: duplicate(fd) });
  }

  write(chunk, encoding, callback) {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (chunk === null) throw Object.assign(new TypeError('May not write null values to stream'), { code: 'ERR_STREAM_NULL_VALUES' });
    const bytes = typeof chunk === 'string' ?
      Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8') : chunk;
    let start = 0;
    do start += writeSync(this.target, bytes, start); while (start < bytes.length);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  }

  /* Who ends it is told that it has, but the next cell writes to it. */
  end(chunk, encoding, callback) {
    const done = [chunk, encoding, callback].find((it) => typeof it === 'function');
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.write(chunk, encoding);
    if (done) process.nextTick(done);
    process.nextTick(() => this.emit('finish'));
    return this;
  }

  _destroy(error, callback) {
    callback(error);
  }
}

function duplicate(fd) {
  try {
    return openSync(`/proc/self/fd/${fd}`, 'w');
  } catch {
    return fd;
  }
}

/* process.stdin is made when a cell first asks for it, each time anew. */
function renewStdin() {
  let stream;
  defineProperty(process, 'stdin', { __proto__: null, configurable: true, enumerable: true, get() {
    stream ??= assign(createReadStream(null, { fd: 0, autoClose: false }), { fd: 0 });
    return stream;
  } });
}

function makeGlobals(filename) {
  const { module, require, load } = makeModule(filename);
  const streams = { stdout: new Output(1), stderr: new Output(2) };
  for (const [name, stream] of Object.entries(streams)) {
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
  process.argv.splice(1, process.argv.length, filename);
  process.mainModule = module;
  require.main = module;
  for (const [name, value] of Object.entries({ require, module, __filename: filename, __dirname: path.dirname(filename) })) {
    define(name, value);
  }
  Object.defineProperty(globalThis, 'exports', { configurable: true, enumerable: false,
    get: () => module.exports, set: (value) => define('exports', value) });
  const own = new Map();
  define(IMPORT, importer(load, own));
  define(META, { url: pathToFileURL(filename).href, filename, dirname: path.dirname(filename),
    resolve: (name) => pathToFileURL(require.resolve(name)).href });
  return { streams, own, prepare: renewStdin };
}

module.exports = { makeGlobals };
