import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redacted } from '../../src/journals/redacted.ts';
import { Redactor } from '../../src/journals/redactor.ts';

const secrets = ['hunter2hunter2', 'a b\nsecret of two lines', 'ünïcode-pässword', 'xxyxxyxx'];
const key = (body: string) => `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`;
const shaped = [
  `sk-ant-api03-${'a1B-_'.repeat(12)}`,
  `sk-proj-${'Zz9_'.repeat(10)}`,
  `ghp_${'a1'.repeat(18)}`,
  `github_pat_${'b_2'.repeat(9)}`,
  'AKIAIOSFODNN7EXAMPLE',
  `xoxb-${'123-abc'.repeat(3)}`,
  `1234567890:${'A-C_1'.repeat(7)}`,
  `eyJ${'hbGciOiJI'}x.eyJ${'zdWIiOiIx'}y.${'s'.repeat(20)}`,
  `AIza${'x'.repeat(35)}`,
  key('MIIEowIBAAKCAQEA\n7bq0Zk+/'.repeat(8)),
];
const plain = [
  ...[
    'task-',
    'asks',
    'sk',
    '-',
    '-----',
    '-----BEGIN',
    'eyJ',
    '42',
    '1234567:',
    '[',
    'hunter',
    'hunter2hunter',
  ],
  ...[' ', '\n', ' = ', 'password: ', 'xx', 'xxy', 'über', '日本', 'a b\n', 'AKIA', 'npm_', '.'],
];

describe('a redactor', () => {
  const text = fc
    .array(fc.oneof(fc.constantFrom(...plain), fc.constantFrom(...secrets), fc.constantFrom(...shaped)), {
      maxLength: 12,
    })
    .map((words) => words.join(''));

  it('gives the same text for every split of the output, without secrets (PROC-2)', () => {
    const property = fc.property(text, fc.array(fc.nat(400), { maxLength: 12 }), (whole, places) => {
      const bytes = Buffer.from(whole);
      const cuts = [...new Set(places.map((place) => Math.min(place, bytes.length)))].sort((a, b) => a - b);
      const once = shown([bytes]);
      expect(shown(partsOf(bytes, cuts))).toBe(once);
      for (const secret of secrets) expect(once).not.toContain(secret);
    });
    fc.assert(property, { numRuns: 3_000 });
  });

  it.each([...secrets, ...shaped])('finds %j split at every place, also byte by byte', (secret) => {
    const bytes = Buffer.from(`before ${secret} after`);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(shown([bytes.subarray(0, cut), bytes.subarray(cut)])).toBe('before [redacted] after');
    }
    expect(shown([...bytes].map((byte) => Buffer.from([byte])))).toBe('before [redacted] after');
  });

  it('finds a value in the encodings it travels in', () => {
    const [value = ''] = secrets;
    const [base64, url] = [
      Buffer.from(value).toString('base64url'),
      encodeURIComponent('a b\nsecret of two lines'),
    ];
    expect(shown([Buffer.from(`${base64} ${url}`)])).toBe('[redacted] [redacted]');
  });

  it('passes on text at once when it cannot start a secret', () => {
    const redactor = new Redactor(secrets);
    for (const prompt of ['Password: ', '$ ', '> ', 'done\n', 'Continue? [y/n] ', 'tests']) {
      expect(textOf(redactor.push(Buffer.from(prompt), 0))).toBe(prompt);
    }
  });

  it('reports the offset of each piece', () => {
    const redactor = new Redactor(secrets);
    const pieces = [
      ...redactor.push(Buffer.from('12 hunter2'), 100),
      ...redactor.push(Buffer.from('hunter2 and '), 500),
      ...redactor.push(Buffer.from('more.'), 900),
      ...redactor.flush(),
    ].map(({ bytes, offset }) => `${offset} ${Buffer.from(bytes).toString()}`);
    expect(pieces).toEqual(['100 12 ', '103 [redacted]', '507  and ', '900 more.']);
  });

  it('holds back a limited part of an endless token, and hides the rest', () => {
    const redactor = new Redactor();
    let output = '';
    output += textOf(redactor.push(Buffer.from('key sk-ant-'), 0));
    const piece = Buffer.alloc(1_000, 'x');
    for (let at = 0; at < 1_000; at += 1) output += textOf(redactor.push(piece, 11 + at * 1_000));
    output += textOf(redactor.push(Buffer.from(' end'), 2_000_000)) + textOf(redactor.flush());
    expect(output.slice(0, 100)).toBe('key [redacted] end');
  });

  it('takes linear time for hostile output', () => {
    const hostile = ['eyJ-', 'sk-', 'geode_', '-----BEGIN ', '1:', 'eyJaaaaaaaaaaaa.', 'hunter2hunter'];
    for (const word of hostile) {
      const redactor = new Redactor(secrets);
      const piece = Buffer.from(word.repeat(Math.ceil(60_000 / word.length)));
      for (let at = 0; at < 20; at += 1) redactor.push(piece, at * piece.length);
    }
  });

  const partsOf = (bytes: Buffer, cuts: readonly number[]) =>
    [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length));

  function shown(pieces: readonly Uint8Array[]): string {
    const redactor = new Redactor(secrets);
    let offset = 0;
    const parts = pieces.flatMap((piece) => {
      offset += piece.length;
      return redactor.push(piece, offset - piece.length);
    });
    return textOf([...parts, ...redactor.flush()]);
  }
  const textOf = (pieces: readonly { bytes: Uint8Array }[]) =>
    Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
});

describe('redacted events', () => {
  it('redact each stream separately, and flush held bytes at a gap and at the exit', async () => {
    const exit = { exitCode: 0, signal: null, timedOut: false, oomKilled: false, durationMs: 1 };
    async function* events() {
      yield { type: 'stdout' as const, bytes: Buffer.from('out hunter2'), offset: 0 };
      yield { type: 'stderr' as const, bytes: Buffer.from('error '), offset: 11 };
      yield { type: 'stdout' as const, bytes: Buffer.from('hunter2 hunter2'), offset: 17 };
      yield { type: 'output-lost' as const, offset: 32, length: 10 };
      yield { type: 'stdout' as const, bytes: Buffer.from('hunter2'), offset: 42 };
      yield { type: 'exit' as const, ...exit };
    }
    const told: string[] = [];
    for await (const event of redacted(events(), secrets)) {
      if ('bytes' in event) told.push(`${event.type}@${event.offset} ${Buffer.from(event.bytes).toString()}`);
      else told.push(event.type);
    }
    expect(told).toEqual([
      'stdout@0 out ',
      'stderr@11 error ',
      'stdout@4 [redacted]',
      'stdout@24  ',
      'stdout@25 hunter2',
      'output-lost',
      'stdout@42 hunter2',
      'exit',
    ]);
  });
});
