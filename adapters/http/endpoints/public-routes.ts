import type { KeyProvider } from '../../../application/ports/key-provider.ts';
import type { Access, Route } from '../server/koa-application.ts';
import {
  authorizationEndpoint,
  keySetEndpoint,
  type MetadataOptions,
  metadataEndpoint,
} from './discovery-endpoints.ts';
import {
  AUTHORIZATION_PATH,
  KEY_SET_PATH,
  metadataPath,
  openIdAliases,
  openIdPath,
  pathOf,
  TOKEN_PATH,
} from './paths.ts';
import { type TokenEndpointParts, tokenEndpoint } from './token-endpoint.ts';

interface PublicRouteParts extends TokenEndpointParts {
  readonly keyProvider: KeyProvider;
  readonly metadata: Omit<MetadataOptions, 'cacheability' | 'methods' | 'grants'>;
  /** Whether the key set and the metadata are public; otherwise they require a token. */
  readonly publicMetadata: boolean;
  /** Such as the example resource. */
  readonly furtherRoutes: readonly Route[];
}

/** The routes of the public port, with who has access to each. All of them are below the path of the base URL too. */
export function publicRoutes(parts: PublicRouteParts): readonly Route[] {
  const access: Access = { kind: parts.publicMetadata ? 'public' : 'bearer' };
  const cacheability = parts.publicMetadata ? 'public' : 'private';
  const { issuer, baseUrl, compatibility = [] } = parts.metadata;
  const options = { ...parts.metadata, methods: parts.methods, grants: parts.grants, cacheability } as const;
  const metadata = { GET: metadataEndpoint(options, 'oauth') };
  const refusing = { GET: authorizationEndpoint, POST: authorizationEndpoint };
  const base = pathOf(baseUrl);
  const ofOrigin = base === '' ? [] : [metadataPath(new URL(baseUrl).origin)];
  // The SDK for Go asks for the metadata of `https://auth.example.com/` with a `/` at the end of the path.
  const withSlash = compatibility.includes('mcp') ? [`${metadataPath(issuer)}/`] : [];
  const routes: readonly Route[] = [
    { path: TOKEN_PATH, access: { kind: 'public' }, methods: { POST: tokenEndpoint(parts) } },
    { path: KEY_SET_PATH, access, methods: { GET: keySetEndpoint(parts.keyProvider, cacheability) } },
    { path: metadataPath(issuer), aliases: [...ofOrigin, ...withSlash], access, methods: metadata },
    ...(compatibility.length > 0
      ? [{ path: AUTHORIZATION_PATH, access: { kind: 'public' } as const, methods: refusing }]
      : []),
    ...(compatibility.includes('oidc')
      ? [
          {
            path: openIdPath(issuer, baseUrl),
            aliases: openIdAliases(issuer),
            access,
            methods: { GET: metadataEndpoint(options, 'openid') },
          },
        ]
      : []),
    ...parts.furtherRoutes,
  ];
  if (base === '') return routes;
  return routes.map((route) => {
    const paths = [route.path, ...(route.aliases ?? [])];
    return { ...route, aliases: [...paths.slice(1), ...paths.map((path) => base + path)] };
  });
}
