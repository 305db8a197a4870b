import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readKeySecrets } from '../../../adapters/jwt/key-secrets.ts';

const SECRET = Buffer.alloc(32, 0xfb);
const read = (text: string) => {
  const secrets = readKeySecrets(text);
  if (!secrets.ok) throw new Error(secrets.problem.join());
  return secrets.value;
};

describe('KEY_SECRET_FILE', () => {
  it.each([
    ['as openssl rand -base64 32 writes it', `${SECRET.toString('base64')}\n`],
    ['without padding and line break', SECRET.toString('base64').replace('=', '')],
    ['in base64url', SECRET.toString('base64url')],
    ['in base64url with padding', `${SECRET.toString('base64url')}=`],
    ['with the line break of Windows', `${SECRET.toString('base64')}\r\n`],
  ])('gives the same secret %s', (_how, text) => {
    const [one, other] = [read(text)[0], read(SECRET.toString('base64'))[0]];
    expect(one?.id).toBe(other?.id);
    expect(one?.sealingKey.export()).toEqual(other?.sealingKey.export());
  });

  it('has a secret in each line, in their order', () => {
    const lines = [randomBytes(32), randomBytes(48), randomBytes(32)].map((bytes) => bytes.toString('base64'));
    const ids = read(`${lines.join('\n')}\n`).map(({ id }) => id);
    expect(ids).toEqual(lines.map((line) => read(line)[0]?.id));
    expect(new Set(ids).size).toBe(3);
  });

  it('derives the id and the sealing key apart, from the whole secret', () => {
    const [one, other] = [randomBytes(33), randomBytes(1)].map(
      (end) => read(`${Buffer.concat([SECRET, end]).toString('base64')}`)[0],
    );
    expect(one?.id).toMatch(/^[\w-]{16}$/);
    expect(one?.id).not.toBe(other?.id);
    expect(one?.sealingKey.symmetricKeySize).toBe(32);
    expect(one?.sealingKey.export().toString('base64url')).not.toContain(one?.id);
  });

  it.each([
    ['nothing', ''],
    ['empty lines', '\n\n'],
    ['31 bytes', SECRET.subarray(1).toString('base64')],
    ['a short second line', `${SECRET.toString('base64')}\nAAAA\n`],
    ['hexadecimal digits of 32 bytes in groups', 'fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb fb'],
    ['white space around it', ` ${SECRET.toString('base64')}`],
    ['both alphabets', `+-${SECRET.toString('base64').slice(2)}`],
    ['spare bits that are not zero', `${SECRET.toString('base64').slice(0, 42)}9=`],
    ['wrong padding', `${SECRET.toString('base64')}=`],
    ['a PEM', '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----'],
  ])('is refused with %s, in one sentence that says how to make it and quotes nothing', (_what, text) => {
    const secrets = readKeySecrets(text);
    expect(secrets).toMatchObject({ ok: false, problem: [expect.stringContaining('openssl rand -base64 32')] });
    for (const line of text.split('\n').filter((part) => part.length > 3)) {
      expect(JSON.stringify(secrets)).not.toContain(line.trim());
    }
  });

  it('does not print', () => {
    const [secret] = read(SECRET.toString('base64'));
    const printed = `${inspect(secret, { depth: null, showHidden: true })}${JSON.stringify(secret)}`;
    expect(printed).not.toContain(SECRET.toString('base64').slice(0, 20));
    expect(printed).not.toContain(secret?.sealingKey.export().toString('hex').slice(0, 20));
  });
});
