/* Errors as Node prints them: the line, the error with its stack; without the frames of the runner. */
'use strict';
const { inspect } = require('node:util');
const { isNativeError } = require('node:util').types;

const { toString } = Error.prototype;
const { apply } = Reflect;

function header(error) {
  try {
    return apply(toString, error, []);
  } catch {
    return 'Error';
  }
}

/* Stacks end where `runner` begins, and name cells as <cell N>, which V8 does not take for a name. */
function cleanStacks(runner) {
  function prepareStackTrace(error, frames) {
    let count = frames.findIndex((frame) => frame.getFileName() === runner);
    if (count < 0) count = frames.length;
    while (count > 0 && frames[count - 1].getFileName() === 'node:inspector') count -= 1;
    const lines = frames.slice(0, count).map((frame) => `\n    at ${frame}`).join('');
    return header(error) + lines.replace(/<cell_(\d+)>/g, '<cell $1>');
  }
  Object.defineProperty(Error, 'prepareStackTrace',
    { value: prepareStackTrace, writable: true, configurable: true, enumerable: false });
}

/* The first frame, if it is in a cell or in Node itself: where a cell was last. */
function placeOf(error) {
  try {
    const found = /^ {4}at .*?<cell (\d+)>:(\d+):(\d+)/m.exec(error.stack);
    return found && { number: Number(found[1]), line: Number(found[2]), column: Number(found[3]) - 1 };
  } catch {
    return null;
  }
}

function lineAt(number, place, sources) {
  const lines = sources.get(number)?.split(/\r\n|[\n\r\u2028\u2029]/) ?? [];
  if (lines.length === 0) return '';
  const line = Math.min(place.line, lines.length); // the end of the cell may be what is wrong
  const text = lines[line - 1];
  const column = line === place.line ? place.column : text.length;
  const blank = text.slice(0, Math.max(column, 0)).replace(/[^\t]/g, ' ');
  return `<cell ${number}>:${line}\n${text}\n${blank}^\n\n`;
}

function textOf(thrown) {
  try {
    return isNativeError(thrown) ? inspect(thrown) : `Uncaught ${inspect(thrown)}`;
  } catch {
    return isNativeError(thrown) ? header(thrown) : 'Uncaught, and it cannot be shown';
  }
}

/* `place`: where the parser stopped in the cell `number`, or null. */
function describe(thrown, sources, number, place) {
  const found = isNativeError(thrown) ? placeOf(thrown) : null;
  if (place && !found) return lineAt(number, place, sources) + header(thrown);
  return (found ? lineAt(found.number, found, sources) : '') + textOf(thrown);
}

module.exports = { describe, cleanStacks };
