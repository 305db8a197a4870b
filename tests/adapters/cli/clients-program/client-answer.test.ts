import { describe, expect, it } from '@jest/globals';
import { LIST_COLUMNS, listedRow, problemsOf } from '../../../../adapters/cli/clients-program/client-answer.ts';
import { textTable } from '../../../../adapters/cli/text-table.ts';
import type { ListedClient } from '../../../../application/clients-program/list-clients.ts';

const CLIENT: ListedClient = {
  id: '1',
  client_id: 'billing',
  client_name: 'Billing',
  scope: 'read',
  state: 'enabled',
  bcrypt_cost: 10,
  problem: null,
  authentication_methods: ['private_key_jwt', 'federated_jwt'],
};

const pageOf = (clients: readonly ListedClient[]) =>
  `${textTable([LIST_COLUMNS, ...clients.map(listedRow)], { heading: true })}\n`;

describe('a page of a list', () => {
  it('has columns that are as wide as their widest value, as a terminal shows it', () => {
    const names = ['Billing', '請求', 'e\u0301te\u0301', '🔑'];
    const page = pageOf(names.map((client_name) => ({ ...CLIENT, client_name })));
    expect(page).toBe(`\
┌────┬───────────┬─────────────┬───────┬─────────┬─────────────┬────────────────────────────────┐
│ id │ client_id │ client_name │ scope │ state   │ bcrypt_cost │ authentication_methods         │
├────┼───────────┼─────────────┼───────┼─────────┼─────────────┼────────────────────────────────┤
│ 1  │ billing   │ Billing     │ read  │ enabled │ 10          │ private_key_jwt, federated_jwt │
│ 1  │ billing   │ 請求        │ read  │ enabled │ 10          │ private_key_jwt, federated_jwt │
│ 1  │ billing   │ e\u0301te\u0301         │ read  │ enabled │ 10          │ private_key_jwt, federated_jwt │
│ 1  │ billing   │ 🔑          │ read  │ enabled │ 10          │ private_key_jwt, federated_jwt │
└────┴───────────┴─────────────┴───────┴─────────┴─────────────┴────────────────────────────────┘
`);
  });

  it('cuts long values, and marks them', () => {
    const long = { ...CLIENT, client_name: 'x'.repeat(201), client_id: 'y'.repeat(201) };
    expect(pageOf([long])).toContain(`│ ${'y'.repeat(200)}… │ ${'x'.repeat(200)}… │`);
    const broken = { ...long, problem: 'client_id must be short' };
    expect(problemsOf([broken])).toEqual([
      `Row 1, client ${'y'.repeat(200)}…: client_id must be short; it gets no token.`,
    ]);
  });
});
