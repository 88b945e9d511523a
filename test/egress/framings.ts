/** Requests whose end two readers could see in different places. `TARGET` and `HOST` stand for those of the way. */
const evil = 'DELETE /admin/everything HTTP/1.1\r\nHost: x\r\nX-Smuggled: yes\r\n\r\n';
const chunkedEvil = `${evil.length.toString(16)}\r\n${evil}\r\n0\r\n\r\n`;

function head(method: string, ...lines: readonly string[]): string {
  return [`${method} TARGET HTTP/1.1`, 'Host: HOST', ...lines, '', ''].join('\r\n');
}

const lengthOfEvil = `Content-Length: ${evil.length}`;
const chunked = 'Transfer-Encoding: chunked';
const bodiless = ['GET', 'HEAD', 'DELETE', 'OPTIONS'] as const;

/** `Connection` that names what frames, in the spellings of several parsers. */
const named = [
  'Connection: content-length',
  'Connection: Content-Length',
  'Connection: close, content-length',
  'Connection: keep-alive,CONTENT-LENGTH',
  'Connection:\tcontent-length',
  'Connection: content_length',
  'Connection: content.length',
  'Connection: content-length, transfer-encoding',
  'Connection: x, , content-length;q=1',
  'CONNECTION: close\r\nconnection: Content-Length',
  'Proxy-Connection: content-length',
  'Keep-Alive: content-length',
  'Connection: host',
  'Connection: connection',
  'Connection: close, close',
] as const;

export const framings: Readonly<Record<string, string>> = Object.fromEntries([
  ...bodiless.flatMap((method) =>
    named.map((line) => [`${method}, length, ${line}`, head(method, lengthOfEvil, line) + evil]),
  ),
  ...bodiless.flatMap((method) => [
    [`${method}, a body with its length`, head(method, lengthOfEvil) + evil],
    [`${method}, a body in chunks`, head(method, chunked) + chunkedEvil],
    [
      `${method}, chunks that Connection names`,
      head(method, chunked, 'Connection: transfer-encoding') + chunkedEvil,
    ],
    [`${method}, bytes without a framing`, head(method) + evil],
    [`${method}, HTTP/1.0 with bytes after it`, head(method).replace('HTTP/1.1', 'HTTP/1.0') + evil],
    [`${method}, length 0 with bytes after it`, head(method, 'Content-Length: 0') + evil],
    [
      `${method}, Upgrade with a body`,
      head(method, 'Connection: Upgrade', 'Upgrade: websocket', lengthOfEvil) + evil,
    ],
    [
      `${method}, Upgrade to h2c with a body`,
      head(
        method,
        'Connection: Upgrade, HTTP2-Settings',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMA',
        lengthOfEvil,
      ) + evil,
    ],
  ]),
  ...(
    [
      ['two lengths that differ', [lengthOfEvil, 'Content-Length: 0']],
      ['two lengths that are the same', [lengthOfEvil, lengthOfEvil]],
      ['lengths in one field', [`${lengthOfEvil}, ${evil.length}`]],
      ['lengths in one field that differ', [`${lengthOfEvil}, 0`]],
      ['a length with a sign', [`Content-Length: +${evil.length}`]],
      ['a negative length', ['Content-Length: -1']],
      ['a length in hexadecimal', [`Content-Length: 0x${evil.length.toString(16)}`]],
      ['a length with a fraction', ['Content-Length: 5.0']],
      ['a length that is empty', ['Content-Length:']],
      ['a length with a blank inside', ['Content-Length: 1 0']],
      ['a length that is huge', ['Content-Length: 99999999999999999999999']],
      ['a length with leading zeros', [`Content-Length: 000${evil.length}`]],
      ['a length with an underscore', [`Content_Length: ${evil.length}`]],
      ['a length with a dot', [`Content.Length: ${evil.length}`]],
      ['two lengths, one with an underscore', ['Content-Length: 0', `Content_Length: ${evil.length}`]],
      ['a length with a blank before the colon', [`Content-Length : ${evil.length}`]],
      ['a length with a tab before the colon', [`Content-Length\t: ${evil.length}`]],
      ['a length behind a folded line', [`X-A: b\r\n ${lengthOfEvil}`]],
      ['a length behind a folded line with a tab', [`X-A: b\r\n\t${lengthOfEvil}`]],
      ['a length behind a bare line feed', [`X-A: b\n${lengthOfEvil}`]],
      ['a length behind a bare carriage return', [`X-A: b\r${lengthOfEvil}`]],
      ['a length behind NUL', [`X-A: b\0${lengthOfEvil}`]],
      ['a length whose name has NUL', [`Content-Length\0: ${evil.length}`]],
      ['length, then chunks', [lengthOfEvil, chunked]],
      ['chunks, then length', [chunked, lengthOfEvil]],
      ['chunks twice', [chunked, chunked]],
      ['chunks, then identity', [chunked, 'Transfer-Encoding: identity']],
      ['identity, then chunks', ['Transfer-Encoding: identity', chunked]],
      ['identity, chunks', ['Transfer-Encoding: identity, chunked']],
      ['gzip, chunks', ['Transfer-Encoding: gzip, chunked']],
      ['chunks, gzip', ['Transfer-Encoding: chunked, gzip']],
      ['chunks, nothing', ['Transfer-Encoding: chunked,']],
      ['xchunked', ['Transfer-Encoding: xchunked']],
      ['CHUNKED', ['Transfer-Encoding: CHUNKED']],
      ['"chunked"', ['Transfer-Encoding: "chunked"']],
      ['chunked with a parameter', ['Transfer-Encoding: chunked;x=y']],
      ['chunked behind a tab', ['Transfer-Encoding:\tchunked']],
      ['chunked behind a vertical tab', ['Transfer-Encoding:\x0bchunked']],
      ['chunked with a blank before the colon', ['Transfer-Encoding : chunked']],
      ['chunked in a folded line', ['Transfer-Encoding:\r\n chunked']],
      ['chunked with an underscore', ['Transfer_Encoding: chunked']],
      ['chunked with a star', ['Transfer*Encoding: chunked']],
      ['chunked behind a bare line feed', ['X-A: b\nTransfer-Encoding: chunked']],
      ['chunked with a letter beyond ASCII', ['Transfer-Encoding: chunked\xa0']],
      ['a trailer that frames', [chunked, 'Trailer: Content-Length']],
      ['TE: trailers', ['TE: trailers', 'Connection: TE', chunked]],
      ['Expect: 100-continue', [chunked, 'Expect: 100-continue']],
      ['Expect: anything', [chunked, 'Expect: anything']],
      ['two hosts', ['Host: other.test', chunked]],
      ['a host that Connection names', ['Connection: host', chunked]],
      ['keep-alive', ['Connection: keep-alive', 'Keep-Alive: timeout=5', chunked]],
    ] as const
  ).flatMap(([name, lines]) => [
    [`POST, ${name}, in chunks`, head('POST', ...lines) + chunkedEvil],
    [`POST, ${name}, as bytes`, head('POST', ...lines) + evil],
    [`GET, ${name}, as bytes`, head('GET', ...lines) + evil],
  ]),
  ...(
    [
      ['extensions', `${evil.length.toString(16)};a=b;c="\r\n${evil}\r\n0\r\n\r\n`],
      ['extensions with a bare line feed', `5;a\nb\r\nhello\r\n0\r\n\r\n${evil}`],
      ['extensions with a bare carriage return', `5;a\rb\r\nhello\r\n0\r\n\r\n${evil}`],
      ['a size behind a blank', `5 \r\nhello\r\n0\r\n\r\n${evil}`],
      ['a size before a blank', ` 5\r\nhello\r\n0\r\n\r\n${evil}`],
      ['a size with 0x', `0x5\r\nhello\r\n0\r\n\r\n${evil}`],
      ['a size with a sign', `+5\r\nhello\r\n0\r\n\r\n${evil}`],
      ['a negative size', `-5\r\nhello\r\n0\r\n\r\n${evil}`],
      ['a size that overflows', `fffffffffffffffff5\r\nhello\r\n0\r\n\r\n${evil}`],
      ['a size with an underscore', `1_0\r\nhello\r\n0\r\n\r\n${evil}`],
      ['bare line feeds', `5\nhello\n0\n\n${evil}`],
      ['a chunk longer than its size', `3\r\nhello\r\n0\r\n\r\n${evil}`],
      ['a last chunk of zeros', `5\r\nhello\r\n00000\r\n\r\n${evil}`],
      ['a last chunk without an end', `5\r\nhello\r\n0\r\n${evil}`],
      [
        'trailers',
        `5\r\nhello\r\n0\r\nContent-Length: 99\r\nHost: other.test\r\nAuthorization: Bearer mine\r\n\r\n${evil}`,
      ],
      ['a trailer with a bare line feed', `5\r\nhello\r\n0\r\nX: a\n\r\n\r\n${evil}`],
      ['no chunk at all', `\r\n${evil}`],
    ] as const
  ).map(([name, body]) => [`POST, chunks, ${name}`, head('POST', chunked) + body]),
  ['a request before it', head('GET') + evil],
  ['a request before it, with empty lines', `${head('GET')}\r\n\r\n${evil}`],
  ['empty lines before it', `\r\n\r\n${head('GET', lengthOfEvil, 'Connection: content-length')}${evil}`],
  ['HTTP/0.9', 'GET TARGET\r\n\r\n'],
  ['HTTP/2.0', `${head('POST', lengthOfEvil).replace('HTTP/1.1', 'HTTP/2.0')}${evil}`],
  ['HTTP/1.2', `${head('POST', lengthOfEvil).replace('HTTP/1.1', 'HTTP/1.2')}${evil}`],
  ['HTTP/1.0, chunks', `${head('POST', chunked).replace('HTTP/1.1', 'HTTP/1.0')}${chunkedEvil}`],
  [
    'HTTP/1.0, keep-alive',
    `${head('GET', 'Connection: keep-alive', lengthOfEvil).replace('HTTP/1.1', 'HTTP/1.0')}${evil}${evil}`,
  ],
  ['a method in small letters', `${head('get', lengthOfEvil)}${evil}`],
  ['a line feed in the target', head('GET').replace('TARGET', 'TARGET\nX: y')],
  ['a body that is never whole', head('POST', 'Content-Length: 1000') + evil],
  ['chunks that are never whole', `${head('POST', chunked)}ffff\r\n${evil}`],
  [
    'more fields than a parser keeps',
    head('GET', ...Array.from({ length: 2_100 }, () => 'a:'), lengthOfEvil) + evil,
  ],
  ['PRI', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${evil}`],
  [
    'the absolute form',
    head('GET', lengthOfEvil, 'Connection: content-length').replace(
      'TARGET',
      'http://HOST/admin/everything',
    ) + evil,
  ],
]);
