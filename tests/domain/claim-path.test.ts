import { describe, expect, test } from '@jest/globals';
import { claimAt, isClaimPath, unmetConditions } from '../../domain/claim-path.ts';

const CLAIMS = JSON.parse(`{
  "repository_id": "74", "runner_id": 12, "ref_protected": true, "nothing": null, "list": ["74"], "": "empty",
  "a/b": "slash", "a~b": "tilde", "~1": "not a slash", "__proto__": "own",
  "kubernetes.io": { "namespace": "shop", "serviceaccount": { "name": "billing" } },
  "https://sts.amazonaws.com/": { "aws_account": "123456789012" }
}`);

describe('claim paths', () => {
  test.each([
    ['/repository_id', '74'],
    ['/kubernetes.io/namespace', 'shop'],
    ['/kubernetes.io/serviceaccount/name', 'billing'],
    ['/https:~1~1sts.amazonaws.com~1/aws_account', '123456789012'],
    ['/a~1b', 'slash'],
    ['/a~0b', 'tilde'],
    ['/~01', 'not a slash'],
    ['/', 'empty'],
    ['/__proto__', 'own'],
  ])('%s leads to its claim', (path, value) => {
    expect(isClaimPath(path)).toBe(true);
    expect(claimAt(CLAIMS, path)).toBe(value);
  });

  test('a path may have 512 characters', () => {
    expect(isClaimPath(`/${'a'.repeat(511)}`)).toBe(true);
  });

  test.each([
    '/kubernetes/io',
    '/toString',
    '/constructor/name',
    '/list/0',
    '/list/length',
    '/repository_id/0',
    '/nothing/x',
    '/kubernetes.io/serviceaccount/name/x',
    '/Repository_id',
    '/repository_id/',
  ])('%s leads to nothing', (path) => {
    expect(isClaimPath(path)).toBe(true);
    expect(claimAt(CLAIMS, path)).toBeUndefined();
  });

  test.each(['', 'repository_id', 'kubernetes.io/namespace', '/a~', '/a~2', '#/a', ' /a', `/${'a'.repeat(512)}`])(
    '"%s" is not a claim path',
    (text) => {
      expect(isClaimPath(text)).toBe(false);
    },
  );

  test.each([
    ['a number', { '/runner_id': '12' }],
    ['a boolean', { '/ref_protected': 'true' }],
    ['null', { '/nothing': 'null' }],
    ['a list of the text', { '/list': '74' }],
    ['an object', { '/kubernetes.io': '[object Object]' }],
    ['a longer text', { '/repository_id': '7' }],
    ['a shorter text', { '/repository_id': '740' }],
    ['no claim', { '/environment': 'undefined' }],
  ])('%s does not meet the condition of a text', (_what, conditions) => {
    expect(unmetConditions(conditions, CLAIMS)).toEqual(Object.keys(conditions));
  });

  test('names every condition that is not met', () => {
    const conditions = { '/repository_id': '74', '/ref': 'main', '/kubernetes.io/namespace': 'other' };
    expect(unmetConditions(conditions, CLAIMS)).toEqual(['/ref', '/kubernetes.io/namespace']);
    expect(unmetConditions({}, CLAIMS)).toEqual([]);
  });
});
