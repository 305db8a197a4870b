import { expect, it } from '@jest/globals';
import { shortLine } from '../../../adapters/log/short-line.ts';

const line = (members: object) =>
  `${JSON.stringify({ level: 'info', time: '2026-11-23T06:54:34.269Z', ...members })}\n`;

it('shows a request with its client and reason', () => {
  const refused = { request_id: 'c60a8448', method: 'POST', route: '/oauth2/token', status: 401, client_id: 'billing' };
  expect(shortLine(line({ ...refused, reason: 'secret_wrong' }))).toBe(
    '06:54:34  POST  /oauth2/token  401  billing  secret_wrong\n',
  );
});

it('shows what else happened, and leaves out audit events', () => {
  expect(shortLine(line({ event: 'host_not_set', hint: 'set HOST' }))).toBe('06:54:34  host_not_set  set HOST\n');
  expect(shortLine(line({ log: 'audit', event: 'token_issued' }))).toBe('');
});
