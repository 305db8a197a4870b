import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { readPage } from './page-snippets.ts';
import type { ProducedResponse } from './response-record.ts';

interface Reference {
  readonly $ref: string;
}

interface Header {
  readonly required?: boolean;
  readonly schema: object;
}

interface DocumentedResponse {
  readonly headers: Readonly<Record<string, Header | Reference>>;
  readonly content?: {
    readonly 'application/json': {
      readonly schema: Reference;
      readonly examples?: Readonly<Record<string, { readonly value: object }>>;
    };
  };
}

type Responses = Readonly<Record<string, DocumentedResponse | Reference>>;

interface Operation {
  readonly responses: Responses;
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly examples: Readonly<Record<string, { readonly value: object }>> }>
    >;
  };
}

interface ApiDocument {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly 'x-other-paths': Operation;
}

/** docs/openapi.json: what the public port promises. */
export const API_DOCUMENT: ApiDocument = JSON.parse(readPage('docs/openapi.json'));

const METADATA_PATH = '/.well-known/oauth-authorization-server';
const OPENID_PATH = '/.well-known/openid-configuration';

/** Header fields of any response over HTTP/1.1, which no description of an API lists. */
const FIELDS_OF_HTTP = ['connection', 'content-length', 'content-type', 'date', 'keep-alive'];

/** Some requests, and how they are answered. */
interface Group {
  /** `POST /oauth2/token`, `* /oauth2/token` for the other methods of the path, or `* *` for other paths. */
  readonly name: string;
  readonly path: string;
  readonly responses: Responses;
  /** HEAD is GET without a body. Undefined for the methods that no other group of the path has. */
  readonly methods: readonly string[] | undefined;
}

const METHODS: Readonly<Record<string, readonly string[]>> = { get: ['GET', 'HEAD'], post: ['POST'] };

const OTHER_PATHS: Group = {
  name: '* *',
  path: '*',
  responses: API_DOCUMENT['x-other-paths'].responses,
  methods: undefined,
};

const GROUPS: readonly Group[] = [
  ...Object.entries(API_DOCUMENT.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([key, { responses }]) => {
      const methods = METHODS[key];
      return { name: `${methods?.[0] ?? '*'} ${path}`, path, responses, methods };
    }),
  ),
  OTHER_PATHS,
];

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema(API_DOCUMENT, 'openapi');
const validators = new Map<DocumentedResponse, ValidateFunction>();

/** The bodies of documented refusals, each with its status. */
export function documentedRefusals(): readonly {
  readonly status: number;
  readonly name: string;
  readonly body: object;
}[] {
  return GROUPS.flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, response]) =>
      Object.entries(examplesOf(resolve(response))).map(([name, { value }]) => ({
        status: Number(status),
        name,
        body: value,
      })),
    ),
  );
}

/** Throws, with every reason, if docs/openapi.json does not have this response. */
export function expectDocumented(answer: ProducedResponse): void {
  const problems: string[] = [];
  for (const group of groupsFor(answer)) {
    const response = group.responses[answer.status];
    if (response === undefined) {
      problems.push(`${group.name}: has no response ${answer.status}`);
      continue;
    }
    const problem = problemOf(answer, resolve(response));
    if (problem === undefined) return;
    problems.push(`${group.name} ${answer.status}: ${problem}`);
  }
  const { request, status, headers, body } = answer;
  const text = JSON.stringify({ request, status, headers, body: body.slice(0, 500) });
  throw new Error(`docs/openapi.json does not have the response ${text}:\n  ${problems.join('\n  ')}`);
}

/** The groups that may answer a request: all of them if it could not be read. */
function groupsFor({ request }: ProducedResponse): readonly Group[] {
  if (request === undefined) return GROUPS;
  const target = (request.target.startsWith('/') ? request.target : URL.parse(request.target)?.pathname) ?? '';
  // The path of the base URL in tests that have one.
  const path = target.replace(/\?.*/s, '').replace(/^\/tenant-a(?=\/)/, '');
  const listed = GROUPS.filter((group) => matches(group.path, path));
  const operation = listed.find(({ methods }) => methods?.includes(request.method));
  // The paths of the metadata depend on the issuer.
  const isMetadata = path.startsWith(METADATA_PATH) || isOpenIdPath(path);
  if (operation !== undefined && !isMetadata) return [operation];
  return [...(operation ? [operation] : listed.filter(({ methods }) => methods === undefined)), OTHER_PATHS];
}

/** Behind the path of the issuer, or in front of it. */
function isOpenIdPath(path: string): boolean {
  return path.endsWith(OPENID_PATH) || path.startsWith(`${OPENID_PATH}/`);
}

function matches(documented: string, path: string): boolean {
  if (documented === METADATA_PATH && path.startsWith(`${METADATA_PATH}/`)) return true;
  if (documented === OPENID_PATH && isOpenIdPath(path)) return true;
  const pattern = RegExp.escape(documented).replace(/\\\{\w+\\\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`).test(path);
}

function problemOf({ request, headers, body }: ProducedResponse, response: DocumentedResponse): string | undefined {
  const examples = Object.values(examplesOf(response));
  const hasBody = response.content !== undefined && request?.method !== 'HEAD';
  const validate = validatorOf(response);
  const fields = Object.fromEntries(Object.entries(headers).filter(([name]) => !FIELDS_OF_HTTP.includes(name)));
  if (!validate({ headers: fields, ...(hasBody && { body: parsed(body) }) })) return ajv.errorsText(validate.errors);
  if (!hasBody) return body === '' ? undefined : 'has no body';
  if (headers['content-type'] !== 'application/json; charset=utf-8') return 'is JSON';
  const isExample = examples.length === 0 || examples.some(({ value }) => bodyLike(value).test(body));
  return isExample ? undefined : 'has no example with this body';
}

/** The body of an example, in which `…` stands for what the settings of a service expect. */
function bodyLike(value: object): RegExp {
  return new RegExp(`^${JSON.stringify(value).split('…').map(RegExp.escape).join('.+')}$`);
}

function validatorOf(response: DocumentedResponse): ValidateFunction {
  const known = validators.get(response);
  if (known !== undefined) return known;
  const headers = Object.entries(response.headers).map(
    ([name, header]) => [name.toLowerCase(), resolve(header)] as const,
  );
  const bodySchema = response.content?.['application/json'].schema.$ref;
  const validate = ajv.compile({
    properties: {
      headers: {
        required: headers.filter(([, { required }]) => required).map(([name]) => name),
        properties: Object.fromEntries(headers.map(([name, { schema }]) => [name, schema])),
        additionalProperties: false,
      },
      ...(bodySchema !== undefined && { body: { $ref: `openapi${bodySchema}` } }),
    },
  });
  validators.set(response, validate);
  return validate;
}

function examplesOf({ content }: DocumentedResponse) {
  return content?.['application/json'].examples ?? {};
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The object itself, or the one that it refers to. */
function resolve<Target extends object>(node: Target | Reference): Target {
  if (!('$ref' in node)) return node;
  const names = node.$ref.slice('#/'.length).split('/');
  return names.reduce((parent: unknown, name) => (parent as Record<string, unknown>)[name], API_DOCUMENT) as Target;
}
