import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Problem } from '../../../adapters/cli/outcome.ts';
import { readSecret } from '../../../adapters/cli/read-secret.ts';

const inputOf = (...chunks: readonly (string | Uint8Array)[]) =>
  Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
const read = (...chunks: readonly (string | Uint8Array)[]) =>
  readSecret(inputOf(...chunks), { allowShortSecret: true });

describe('readSecret', () => {
  it.each([
    ['a secret', ['secret'], 'secret'],
    ['a line', ['secret\n'], 'secret'],
    ['a Windows line', ['secret\r\n'], 'secret'],
    ['two line breaks', ['secret\n\n'], 'secret\n'],
    ['spaces', [' secret \n'], ' secret '],
    ['a carriage return that is not followed by a line feed', ['secret\r'], 'secret\r'],
    ['a byte order mark, unchanged', ['\ufeffsecret'], '\ufeffsecret'],
    ['72 bytes and a line break', [`${'x'.repeat(72)}\r\n`], 'x'.repeat(72)],
    ['a letter in two chunks', [new Uint8Array([0xc3]), new Uint8Array([0xa9])], 'é'],
  ])('accepts %s', async (_what, chunks, secret) => {
    expect(await read(...chunks)).toBe(secret);
  });

  it.each([
    ['nothing', [], 'is empty.'],
    ['only a line break', ['\n'], 'is empty.'],
    ['73 bytes', ['x'.repeat(73)], 'has more than 72 bytes; BCrypt would ignore the rest.'],
    ['73 bytes of letters with accents', ['é'.repeat(37)], 'has more than 72 bytes; BCrypt would ignore the rest.'],
    ['a whole file', ['x'.repeat(70), '\n'.repeat(70)], 'has more than 72 bytes; BCrypt would ignore the rest.'],
    ['a NUL', ['a\0b'], 'contains a NUL, at which BCrypt stops reading.'],
    ['bytes that are not UTF-8', [new Uint8Array([0xff])], 'is not UTF-8.'],
  ])('refuses %s', async (_what, chunks, rule) => {
    await expect(read(...chunks)).rejects.toMatchObject({
      exitCode: 1,
      messages: [`The secret on standard input ${rule}`],
    });
  });

  it('stops reading an endless input as soon as it is too long', async () => {
    const endless = Readable.from(
      (function* () {
        while (true) yield Buffer.alloc(64, 'x');
      })(),
    );
    await expect(readSecret(endless, {})).rejects.toThrow(Problem);
  });

  it('refuses a terminal as input, where the secret would be visible', async () => {
    const stdin = Object.assign(Readable.from([]), { isTTY: true });
    await expect(readSecret(stdin, {})).rejects.toMatchObject({ exitCode: 2 });
  });

  it.each([
    ['16 characters', 'sixteen-letters!'],
    ['16 characters of several bytes', '\u{1f511}'.repeat(16)],
  ])('accepts %s without an option', async (_what, secret) => {
    expect(await readSecret(inputOf(`${secret}\n`), {})).toBe(secret);
  });

  it.each([
    ['one character', 'x'],
    ['15 characters', 'fifteen-letters'],
    ['15 characters of several bytes', '\u{1f511}'.repeat(15)],
  ])('refuses %s unless short secrets are allowed', async (_what, secret) => {
    await expect(readSecret(inputOf(`${secret}\n`), {})).rejects.toMatchObject({
      exitCode: 1,
      messages: [
        'The secret on standard input has fewer than 16 characters. To accept it all the same, add --allow-short-secret.',
      ],
    });
    expect(await read(secret)).toBe(secret);
  });
});
