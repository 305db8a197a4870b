import type { IssueToken } from '../../../application/issue-token.ts';
import type { PublishKeys } from '../../../application/keys/publish-keys.ts';
import type { AuthenticationMethod } from '../../../domain/authentication-method.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import type { Access, Handler, Route } from '../server/koa-application.ts';
import {
  AUTHORIZATION_PATH,
  authorizationEndpoint,
  KEY_SET_PATH,
  keySetEndpoint,
  type MetadataOptions,
  metadataEndpoint,
  metadataPath,
  TOKEN_PATH,
} from './discovery-endpoints.ts';
import { tokenEndpoint } from './token-endpoint.ts';

interface PublicRouteParts {
  readonly issueToken: IssueToken;
  readonly publishKeys: PublishKeys;
  readonly load: LoadLimit;
  /** The client authentication methods that are switched on. */
  readonly methods: readonly AuthenticationMethod[];
  readonly metadata: Omit<MetadataOptions, 'cacheability' | 'methods'>;
  /** Whether the key set and the metadata are public; otherwise they require a token. */
  readonly publicMetadata: boolean;
  /** Further routes, such as the example resource. */
  readonly resources: readonly Route[];
}

/** The routes of the public port, and who has access to each. */
export function publicRoutes(parts: PublicRouteParts): readonly Route[] {
  const access: Access = { kind: parts.publicMetadata ? 'public' : 'bearer' };
  const cacheability = parts.publicMetadata ? 'public' : 'private';
  const metadata = metadataEndpoint({ ...parts.metadata, methods: parts.methods, cacheability });
  return [
    { path: TOKEN_PATH, access: { kind: 'public' }, methods: { POST: tokenEndpoint(parts) } },
    { path: KEY_SET_PATH, access, methods: { GET: keySetEndpoint(parts.publishKeys, cacheability) } },
    { path: metadataPath(parts.metadata.issuer), access, methods: { GET: metadata } },
    ...(parts.metadata.compatibility === 'mcp' ? mcpRoutes(metadataPath(parts.metadata.issuer), metadata) : []),
    ...parts.resources,
  ];
}

/** The SDK for Go asks for the metadata of `https://auth.example.com/` with a `/` at the end of the path. */
function mcpRoutes(path: string, metadata: Handler): readonly Route[] {
  const access: Access = { kind: 'public' };
  return [
    { path: `${path}/`, access, methods: { GET: metadata } },
    { path: AUTHORIZATION_PATH, access, methods: { GET: authorizationEndpoint, POST: authorizationEndpoint } },
  ];
}
