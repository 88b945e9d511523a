'use strict';

/** How a value is shown: as text always, and in every richer form that it offers by duck typing. */
const { inspect } = require('node:util');

const ownDisplay = Symbol.for('Jupyter.display');
const methods = {
  html: '_repr_html_',
  markdown: '_repr_markdown_',
  svg: '_repr_svg_',
  latex: '_repr_latex_',
  png: '_repr_png_',
  jpeg: '_repr_jpeg_',
};
const mimeTypes = {
  'text/plain': 'text',
  'text/html': 'html',
  'text/markdown': 'markdown',
  'image/svg+xml': 'svg',
  'text/latex': 'latex',
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'application/json': 'json',
};
const textShare = 16; // JSON spends up to six bytes on one character
const mostRows = 1000;
const mostColumns = 200;

exports.forms = [...Object.keys(methods), 'json', 'table'];

/** The forms of a value, as far as they fit into `limit` bytes together. */
exports.describe = (value, limit) => {
  const forms = { text: inspect(value, { depth: 4, maxArrayLength: 1000, maxStringLength: limit }) };
  if (value !== null && typeof value === 'object') {
    for (const [form, method] of Object.entries(methods)) {
      if (typeof value[method] === 'function') put(forms, form, value[method]());
    }
    if (typeof value[ownDisplay] === 'function') {
      for (const [mime, content] of Object.entries(value[ownDisplay]() ?? {})) {
        if (Object.hasOwn(mimeTypes, mime)) put(forms, mimeTypes[mime], content);
      }
    }
  }
  put(forms, 'table', tableOf(value));
  put(forms, 'json', value);
  return within(forms, limit);
};

/** What `display.html('…')` and its like show. */
exports.describedAs = (form, content, limit) => {
  const forms = { text: `<${form}>` };
  put(forms, form, form === 'table' ? tableOf(Array.from(content)) : content);
  return within(forms, limit);
};

function put(forms, form, content) {
  if (content === undefined || (content === null && form !== 'json')) return;
  if (form === 'json') {
    const faithful = jsonOf(content);
    if (faithful !== undefined) forms.json = JSON.parse(faithful);
  } else if (form === 'table') {
    forms.table = content;
  } else if ((form === 'png' || form === 'jpeg') && ArrayBuffer.isView(content)) {
    forms[form] = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
  } else {
    forms[form] = String(content);
  }
}

function tableOf(value) {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isPlain)) return undefined;
  const kept = value.slice(0, mostRows);
  const columns = [...new Set(kept.flatMap((row) => Object.keys(row)))].slice(0, mostColumns);
  return {
    columns,
    rows: kept.map((row) => columns.map((column) => cell(row[column]))),
    totalRows: value.length,
  };
}

function cell(item) {
  if (item === null || item === undefined) return null;
  if (typeof item === 'number') return Number.isFinite(item) ? item : String(item);
  if (typeof item === 'string' || typeof item === 'boolean') return item;
  return inspect(item);
}

/** JSON text, or undefined where the value has no faithful one. */
function jsonOf(value) {
  try {
    return JSON.stringify(value, function faithful(key, item) {
      const original = this[key];
      const plain = Array.isArray(original) || isPlain(original) || original instanceof Date;
      const scalar = original === null || ['string', 'boolean'].includes(typeof original);
      if (plain || scalar || Number.isFinite(original)) return item;
      throw new TypeError('not faithful');
    });
  } catch {
    return undefined;
  }
}

function isPlain(value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** The forms that fit together into `limit` bytes of JSON, and the names of those that do not. */
function within({ text, ...forms }, limit) {
  const kept = { text: shortened(text, Math.floor(limit / textShare)) };
  const omitted = [];
  let room = limit - Buffer.byteLength(JSON.stringify(kept.text));
  for (const [form, content] of Object.entries(forms)) {
    const size = Buffer.byteLength(JSON.stringify(content));
    if (size > room) {
      omitted.push(form);
    } else {
      room -= size;
      kept[form] = content;
    }
  }
  return { ...kept, omitted };
}

function shortened(text, limit) {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters left out …\n${text.slice(-half)}`;
}
exports.shortened = shortened;
