import { describe, expect, it } from 'vitest';
import { parseSize } from '../../src/seams/limits.ts';

describe('sizes', () => {
  it.for([
    ['512m', 512 * 1024 ** 2],
    ['2g', 2 * 1024 ** 3],
    ['2GB', 2 * 1024 ** 3],
    ['2GiB', 2 * 1024 ** 3],
    ['1.5g', 1.5 * 1024 ** 3],
    ['64k', 65_536],
    ['100', 100],
    [4096, 4096],
  ] as const)('RT-7: reads %j', ([text, bytes]) => {
    expect(parseSize(text, 'memory')).toBe(bytes);
  });

  it.for([
    '',
    'abc',
    '0',
    '0m',
    '-1m',
    '1x',
    '1 2m',
    'm',
    'NaN',
    'Infinity',
    '1e9',
    '0x10',
    '9999999999t',
    '512bb',
    '7ib',
    '1.5b',
    '1.5',
    Number.NaN,
    0,
    -1,
    Number.POSITIVE_INFINITY,
  ])('RT-7: refuses %j', (value) => {
    expect(() => parseSize(value, 'memory')).toThrow(expect.objectContaining({ code: 'invalid_input' }));
  });
});
