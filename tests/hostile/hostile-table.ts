import { AUTHORIZATIONS } from './authorizations.ts';
import { CONTENT_CODINGS, ENCODINGS, MEDIA_TYPES } from './encodings.ts';
import { CHUNKS, FRAMINGS, LINES } from './framings.ts';
import { HEADER_FLOODS, HOSTS, METHODS, TARGETS } from './heads.ts';
import type { HostileRequests } from './hostile-request.ts';
import { CREDENTIAL_VALUES, GRANTS_AND_SCOPES, PARAMETERS } from './parameters.ts';
import { PIPELINES } from './pipelines.ts';
import { ASSERTIONS, BASIC_CREDENTIALS, FORWARDED, METADATA, RESOURCES } from './switched-off.ts';
import { TOKENS } from './tokens.ts';

/** Every hostile request, with what a service with default settings answers. features.ts has what others answer. */
export const HOSTILE_REQUESTS: HostileRequests = {
  'percent-encoding and UTF-8': ENCODINGS,
  'media types': MEDIA_TYPES,
  'content codings': CONTENT_CODINGS,
  parameters: PARAMETERS,
  'client ids and secrets': CREDENTIAL_VALUES,
  'grants, scopes and the query': GRANTS_AND_SCOPES,
  framings: FRAMINGS,
  chunks: CHUNKS,
  'lines and fields': LINES,
  methods: METHODS,
  targets: TARGETS,
  Host: HOSTS,
  'header floods': HEADER_FLOODS,
  Authorization: AUTHORIZATIONS,
  tokens: TOKENS,
  pipelines: PIPELINES,
  assertions: ASSERTIONS,
  'credentials of Basic': BASIC_CREDENTIALS,
  resources: RESOURCES,
  metadata: METADATA,
  'addresses of proxies': FORWARDED,
};
