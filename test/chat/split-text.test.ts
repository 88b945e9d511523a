import fc from 'fast-check';
import { expect, it } from 'vitest';
import { splitText } from '../../src/chat/split-text.ts';
import { eachOf } from '../each-of.ts';

it('leaves short text alone', () => {
  expect(splitText('hello', 100)).toEqual(['hello']);
  expect(splitText('', 100)).toEqual(['']);
});

it('cuts at paragraphs, then lines, then words', () => {
  const paragraphs = `${'a'.repeat(100)}\n\n${'b'.repeat(100)}`;
  expect(splitText(paragraphs, 180)).toEqual(['a'.repeat(100), 'b'.repeat(100)]);
  const words = Array.from({ length: 60 }, () => 'word').join(' ');
  for (const part of eachOf(splitText(words, 120))) expect(part).toMatch(/^( ?word)+$/);
});

it('closes a code block that it cuts, and opens it again in the next part', () => {
  const code = Array.from({ length: 40 }, (_, index) => `print(${index})`).join('\n');
  const parts = splitText(`Look:\n\`\`\`python\n${code}\n\`\`\`\nDone.`, 200);
  expect(parts.length).toBeGreaterThan(1);
  for (const part of parts) {
    expect(part.length).toBeLessThanOrEqual(200);
    expect((part.match(/^```/gm) ?? []).length % 2).toBe(0);
  }
  expect(parts[1]).toMatch(/^```python\n/);
  const printed = parts.flatMap((part) => part.match(/print\(\d+\)/g) ?? []);
  expect(printed).toEqual(code.split('\n'));
});

it('loses no text and splits no character, for random texts', () => {
  const pieces = ['word', '\n', '\n\n', ' ', '\n```\n', '\n```js\n', '😀😀', '\n~~~\n', 'x'.repeat(70)];
  // White space at a cut may go, and fences are added.
  const rest = (value: string) => value.replace(/[`~js\s]/g, '');
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (chosen) => {
      const given = chosen.join('');
      const parts = splitText(given, 120);
      for (const part of parts) {
        expect(part.length).toBeLessThanOrEqual(120);
        expect(part.isWellFormed()).toBe(true);
      }
      expect(rest(parts.join(''))).toBe(rest(given));
    }),
  );
});
