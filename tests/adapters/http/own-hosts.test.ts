import { describe, expect, it } from '@jest/globals';
import { ownHosts } from '../../../adapters/http/parsing/own-hosts.ts';

const answersHost = ownHosts(['Metrics.internal', 'auth_1']);

describe('ownHosts', () => {
  it.each([
    'localhost',
    'LOCALHOST:8081',
    'localhost.',
    'auth.localhost:1',
    '127.0.0.1',
    '10.1.2.3:8081',
    '[::1]',
    '[2001:db8::17]:8081',
    '[::ffff:127.0.0.1]',
    'metrics.internal',
    'METRICS.INTERNAL.:9090',
    'auth_1:8081',
    'localhost:',
  ])('accepts %s', (host) => {
    expect(answersHost(host)).toBe(true);
  });

  it.each([
    undefined,
    '',
    ':8081',
    '.',
    'attacker.test',
    'attacker.test:8081',
    'localhost.attacker.test',
    'a.localhost.attacker.test',
    'notlocalhost',
    'evil-localhost',
    'metrics.internal.attacker.test',
    'amcetrics.internal',
    'x.metrics.internal',
    '127.0.0.1.attacker.test',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '[attacker.test]',
    '[::1].attacker.test',
    '[::1',
    '::1',
    'attacker.test:localhost',
    'localhost:8081:1',
    'localhost:port',
    'localhost@attacker.test',
    'attacker.test,localhost',
  ])('refuses %s', (host) => {
    expect(answersHost(host)).toBe(false);
  });

  it('accepts no name of its own but those of the loopback interface', () => {
    expect(['localhost', 'metrics.internal'].map(ownHosts([]))).toEqual([true, false]);
  });
});
