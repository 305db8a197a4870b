import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  isLocked,
  isPresentableSecret,
  isSecretId,
  lock,
  NO_SECRET,
  replaceSecret,
  StoredSecret,
  secretIdOf,
  selectSecret,
  unlock,
} from '../../domain/stored-secret.ts';

const TAIL = `${'abcdefghijklmnopqrstuv'}${'A'.repeat(31)}`;

describe('StoredSecret', () => {
  it.each(['$2a$10$', '$2b$10$', '$2y$10$', '$2b$04$', '$2b$14$'])('recognizes %s… as BCrypt', (head) => {
    const secret = StoredSecret.parse(head + TAIL);
    expect(secret).toMatchObject({ kind: 'bcrypt', cost: Number(head.slice(4, 6)) });
    expect(secret.reveal()).toBe(head + TAIL);
  });

  it.each([
    ['a cost below 4', `$2b$03$${TAIL}`],
    ['a cost above 14', `$2b$15$${TAIL}`],
    ['a cost of one digit', `$2b$9$${TAIL}`],
    ['the version of a broken encoder', `$2x$10$${TAIL}`],
    ['no version', `$2$10$${TAIL}`],
    ['a truncated hash', `$2b$10$${TAIL.slice(1)}`],
    ['a hash followed by a character', `$2b$10$${TAIL}A`],
    ['a hash followed by a line feed', `$2b$10$${TAIL}\n`],
    ['a character outside its base64 alphabet', `$2b$10$+${TAIL.slice(1)}`],
    ['an unknown prefix', `{bcrypt}$2b$10$${TAIL}`],
    ['a locked hash', `!$2b$10$${TAIL}`],
    ['a plain secret without its prefix', 'plain'],
    ['an empty plain secret', '{noop}'],
    ['a plain secret of 73 bytes', `{noop}${'a'.repeat(73)}`],
    ['a plain secret with a NUL', '{noop}a\0b'],
  ])('treats %s as unusable', (_name, encoded) => {
    expect(StoredSecret.parse(encoded).kind).toBe('unusable');
  });

  it('reveals a plain secret without its prefix', () => {
    expect(StoredSecret.parse('{noop}plain').reveal()).toBe('plain');
  });
});

describe('the lock of a stored secret', () => {
  const HASH = `$2b$10$${'a'.repeat(53)}`;

  it('is put in front of the hash only once', () => {
    expect(lock(HASH)).toBe(`!${HASH}`);
    expect(lock(lock(HASH))).toBe(`!${HASH}`);
    expect([HASH, lock(HASH), ''].map(isLocked)).toEqual([false, true, false]);
  });

  it('makes every secret fail', () => {
    expect(StoredSecret.parse(lock(HASH)).kind).toBe('unusable');
    expect(StoredSecret.parse(lock('{noop}plain')).kind).toBe('unusable');
  });

  it('is removed from a hash completely, even if it was put there several times by hand', () => {
    expect(unlock(lock(HASH))).toBe(HASH);
    expect(unlock(`!!${HASH}`)).toBe(HASH);
    expect(unlock(HASH)).toBe(HASH);
  });

  it.each(['!', '!locked by hand', '!{noop}plain', '!*x', '!!'])('stays if no hash is behind it: %s', (stored) => {
    expect(unlock(stored)).toBe(stored);
  });

  it('is kept when the secret is replaced', () => {
    expect(replaceSecret(HASH, '$2b$new')).toBe('$2b$new');
    expect(replaceSecret(lock(HASH), '$2b$new')).toBe('!$2b$new');
    expect(replaceSecret(lock(HASH), lock('$2b$new'))).toBe('!$2b$new');
  });
});

describe('isPresentableSecret', () => {
  it('counts bytes of UTF-8, not characters, for every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }), (text) => {
        const presentable = Buffer.byteLength(text) <= 72 && !text.includes('\0');
        expect(isPresentableSecret(text)).toBe(presentable);
      }),
    );
  });

  it.each(['', '\0', 'a\0', 'a'.repeat(73)])('refuses %j', (secret) => {
    expect(isPresentableSecret(secret)).toBe(false);
  });
});

describe('the limit of 72 bytes, for characters of each size in UTF-8', () => {
  it.each([
    ['one byte', 'a', 1],
    ['the last one of one byte', '\u007f', 1],
    ['the first one of two bytes', '\u0080', 2],
    ['the last one of two bytes', '\u07ff', 2],
    ['the first one of three bytes', '\u0800', 3],
    ['the last one of three bytes', '\uffff', 3],
    ['the first one of four bytes', '\u{10000}', 4],
    ['four bytes', '😀', 4],
  ])('%s', (_name, character, bytes) => {
    const longest = character.repeat(72 / bytes);
    expect(isPresentableSecret(longest)).toBe(true);
    expect(isPresentableSecret(`${longest}a`)).toBe(false);
  });
});

describe('unlock', () => {
  it('removes only a lock at the beginning', () => {
    expect(unlock('x!$2b$04$')).toBe('x!$2b$04$');
  });
});

describe('the id of a secret', () => {
  it.each([
    ['Xb3kQ9aLw2.the-rest', 'Xb3kQ9aLw2'],
    ['a.b.c', 'a'],
    ['A-_~9.x', 'A-_~9'],
    [`${'x'.repeat(32)}.y`, 'x'.repeat(32)],
    ['a-secret-without-a-dot', undefined],
    ['.nothing-in-front', undefined],
    ['nothing-behind.', undefined],
    ['a b.c', undefined],
    ['é.c', undefined],
    [`${'x'.repeat(33)}.y`, undefined],
    ['', undefined],
  ])('of %j is %j', (secret, id) => {
    expect(secretIdOf(secret)).toBe(id);
    if (id !== undefined) expect(isSecretId(id)).toBe(true);
  });

  it('selects the stored secret, unless the client is disabled or has no such secret', () => {
    expect(selectSecret('$2b$column', '$2b$named')).toBe('$2b$named');
    expect(selectSecret(NO_SECRET, '$2b$named')).toBe('$2b$named');
    expect(selectSecret('$2b$column', undefined)).toBe('$2b$column');
    expect(selectSecret('!$2b$column', '$2b$named')).toBe('!$2b$column');
    expect(selectSecret('!*', '$2b$named')).toBe('!*');
  });
});
