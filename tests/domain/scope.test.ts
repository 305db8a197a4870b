import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Scope } from '../../domain/scope.ts';

describe('Scope (RFC 6749 section 3.3)', () => {
  it.each(['read', 'read write', 'a', '!', '#[]~', 'https://example.com/a?b=c', 'read,write'])('reads %s', (text) => {
    const scope = Scope.parse(text);
    expect(scope.ok && scope.value.toString()).toBe(text);
  });

  it.each(['', ' ', ' read', 'read ', 'read  write', 'read\twrite', 'a"b', 'a\\b', 'é', 'a\u007f', 'read\n'])(
    'refuses %j',
    (text) => {
      expect(Scope.parse(text)).toEqual({ ok: false, problem: 'malformed' });
    },
  );

  it('counts a repeated token once', () => {
    const scope = Scope.parse('b a b');
    expect(scope.ok && scope.value.toArray()).toEqual(['b', 'a']);
  });

  const tokens = fc.uniqueArray(fc.stringMatching(/^[\x21\x23-\x5B\x5D-\x7E]{1,8}$/), { minLength: 1, maxLength: 6 });
  const parsed = (list: readonly string[]) => {
    const scope = Scope.parse(list.join(' '));
    if (!scope.ok) throw new Error(`refused ${list.join(' ')}`);
    return scope.value;
  };

  it('parses what it prints, for every list of tokens', () => {
    fc.assert(fc.property(tokens, (list) => expect(parsed(list).toArray()).toEqual(list)));
  });

  it('is a subset exactly if each of its tokens is in the other', () => {
    fc.assert(
      fc.property(tokens, tokens, (one, other) => {
        expect(parsed(one).isSubsetOf(parsed(other))).toBe(one.every((token) => other.includes(token)));
      }),
    );
  });
});
