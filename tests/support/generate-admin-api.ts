import { z } from 'zod';
import { ENTRY_SHAPE } from '../../adapters/files/clients-file.ts';
import { ADMIN_API_REASONS } from '../../adapters/http/server/http-reasons.ts';
import { RESPONSES } from '../../adapters/http/server/http-refusal.ts';
import { ADMIN_SCOPES } from '../../application/admin-api/administer-clients.ts';
import { format } from './generate-audit-schema.ts';
import { readPage } from './page-snippets.ts';

type Code = keyof typeof RESPONSES;

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: object) => ({ 'application/json': { schema } });
const text = { type: 'string' };
const time = { type: 'integer', description: 'Seconds since the epoch.' };
const ETAG = { ETag: { required: true, schema: text, description: 'The version of the client, for If-Match.' } };

const ok = (status: number, description: string, schema?: object, headers?: object) => ({
  [status]: { description, ...(headers && { headers }), ...(schema && { content: json(schema) }) },
});
const client = (status: number, description: string) => ok(status, description, ref('StoredClient'), ETAG);

/** The responses of these codes. Those that every request may get come first. */
function refusals(...codes: readonly Code[]) {
  const all: readonly Code[] = [
    ...(['unauthorized', 'insufficient_scope', 'slow_down', 'temporarily_unavailable'] as const),
    ...codes,
  ];
  return Object.fromEntries(
    all.map((code) => {
      const isProblem = code === 'invalid_client_metadata';
      const type = isProblem ? 'application/problem+json' : 'application/json';
      const schema = ref(isProblem ? 'Problem' : 'Refusal');
      return [RESPONSES[code].status, { description: `\`${RESPONSES[code].error}\``, content: { [type]: { schema } } }];
    }),
  );
}

const operation = (operationId: string, summary: string, responses: object, more: object = {}) => ({
  operationId,
  summary,
  ...more,
  responses,
});
const path = (name: string) => ({ name, in: 'path', required: true, schema: text });
const header = (name: string, required: boolean) => ({ name, in: 'header', required, schema: text });
const body = (schema: object, required = true) => ({ requestBody: { required, content: json(schema) } });

/** What is read of an entry of a clients file, as a schema: without the rules of its values. */
function entrySchema() {
  const { $schema: _schema, ...schema } = z.toJSONSchema(ENTRY_SHAPE, { io: 'input', unrepresentable: 'any' });
  return schema as { readonly properties: Readonly<Record<string, object>> };
}

function secretSchemas(properties: Readonly<Record<string, object>>) {
  const { secrets, ...others } = properties as {
    readonly secrets: { readonly items: { readonly properties: object } };
  };
  const items = { ...secrets.items, required: ['secret_id', 'name'] };
  return { ...others, secrets: { ...secrets, items } };
}

const { properties, ...entry } = entrySchema();
const fields = secretSchemas(properties);

/** The description of the API for managing clients: docs/admin-api.openapi.json. */
export const ADMIN_API_DOCUMENT = {
  openapi: '3.1.0',
  info: {
    title: 'Client Credentials Authorization Service: managing clients',
    version: JSON.parse(readPage('package.json')).version as string,
    description: 'On the management port, with ADMIN_API=true. docs/admin-api.md explains it.',
  },
  servers: [{ url: 'http://127.0.0.1:8081' }],
  security: [{ token: [] }],
  paths: {
    '/clients': {
      get: operation(
        'listClients',
        'List clients, ordered by id',
        { ...ok(200, 'A page.', ref('Page')), ...refusals('invalid_request') },
        {
          parameters: [
            { name: 'after', in: 'query', schema: text },
            { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 500, default: 100 } },
          ],
        },
      ),
    },
    '/clients/{id}': {
      parameters: [path('id')],
      get: operation('getClient', 'Read a client', { ...client(200, 'The client.'), ...refusals('not_found') }),
      put: operation(
        'putClient',
        'Create or replace a client',
        {
          ...client(200, 'It was replaced.'),
          ...client(201, 'It was created.'),
          ...refusals(
            'invalid_request',
            'not_found',
            'conflict',
            'precondition_failed',
            'content_too_large',
            'invalid_client_metadata',
            'precondition_required',
          ),
        },
        { parameters: [header('If-Match', false), header('If-None-Match', false)], ...body(ref('Client')) },
      ),
      delete: operation(
        'deleteClient',
        'Delete a client',
        {
          ...ok(204, 'It was deleted.'),
          ...refusals('not_found', 'conflict', 'precondition_failed', 'precondition_required'),
        },
        { parameters: [header('If-Match', true)] },
      ),
    },
    ...Object.fromEntries(
      (['disable', 'enable'] as const).map((name) => [
        `/clients/{id}/${name}`,
        {
          parameters: [path('id')],
          post: operation(`${name}Client`, `${name === 'enable' ? 'Unlock' : 'Lock'} a client`, {
            ...client(200, 'The client.'),
            ...refusals('not_found', 'conflict'),
          }),
        },
      ]),
    ),
    '/clients/{id}/secrets': {
      parameters: [path('id')],
      post: operation(
        'addSecret',
        'Generate a secret, which is shown once',
        {
          ...ok(201, 'The secret.', ref('NewSecret')),
          ...refusals('invalid_request', 'not_found', 'conflict', 'invalid_client_metadata'),
        },
        body({ type: 'object', additionalProperties: false, properties: { name: text, expires_at: time } }, false),
      ),
    },
    '/clients/{id}/secrets/{secret_id}': {
      parameters: [path('id'), path('secret_id')],
      delete: operation('removeSecret', 'Remove a secret', {
        ...ok(204, 'It was removed.'),
        ...refusals('not_found', 'conflict'),
      }),
    },
  },
  components: {
    securitySchemes: {
      token: {
        type: 'http',
        scheme: 'bearer',
        description: `An access token for the issuer as its resource, with ${Object.values(ADMIN_SCOPES).join(', ')}.`,
      },
    },
    schemas: {
      Client: {
        ...entry,
        properties: { ...fields, state: text, problem: text, last_used: { type: 'string', format: 'date' } },
        required: ['client_name', 'scope'],
      },
      StoredClient: {
        allOf: [ref('Client')],
        required: ['client_id', 'state'],
        properties: { state: { enum: ['enabled', 'disabled', 'broken'] } },
      },
      Page: {
        type: 'object',
        required: ['clients'],
        properties: { clients: { type: 'array', items: ref('StoredClient') }, next: { type: 'string' } },
      },
      NewSecret: {
        type: 'object',
        required: ['secret_id', 'client_secret', 'name', 'expires_at'],
        properties: { secret_id: text, client_secret: text, name: text, expires_at: { type: ['integer', 'null'] } },
      },
      Refusal: {
        type: 'object',
        required: ['error'],
        properties: { error: text, error_description: { enum: descriptions() } },
      },
      Problem: {
        type: 'object',
        required: ['title', 'status', 'error', 'errors'],
        properties: {
          title: text,
          status: { const: 422 },
          error: text,
          error_description: text,
          errors: {
            type: 'array',
            items: {
              type: 'object',
              required: ['path', 'code', 'text'],
              properties: { path: text, code: text, text, fix: text },
            },
          },
        },
      },
    },
  },
};

function descriptions(): readonly string[] {
  return Object.values(ADMIN_API_REASONS).map(({ description }) => description);
}

export function generateAdminApi(): string {
  return `${format(ADMIN_API_DOCUMENT)}\n`;
}
