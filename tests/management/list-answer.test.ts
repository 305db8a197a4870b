import { describe, expect, it } from '@jest/globals';
import type { ClientView } from '../../management/client-view.ts';
import { listAnswer } from '../../management/list-answer.ts';

const CLIENT: ClientView = {
  id: '1',
  client_id: 'billing',
  client_name: 'Billing',
  scope: 'read',
  state: 'enabled',
  bcrypt_cost: 10,
  problem: null,
};

describe('a list of many clients', () => {
  it('is laid out below a heading every thousand rows, and leaves none out', () => {
    const clients = Array.from({ length: 2_001 }, (_, number) => ({ ...CLIENT, id: String(number) }));
    const lines = listAnswer(clients).text().split('\n');
    expect(lines.filter((line) => line.includes('client_id'))).toHaveLength(3);
    expect(lines.filter((line) => line.includes('billing'))).toHaveLength(2_001);
  });
});
