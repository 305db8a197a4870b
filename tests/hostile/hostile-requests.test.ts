import { AUTHORIZATIONS } from './authorizations.ts';
import { describeHostileRequests } from './describe-hostile.ts';
import { describeSlowConnections } from './describe-slow-connections.ts';
import { CONTENT_CODINGS, ENCODINGS, MEDIA_TYPES } from './encodings.ts';
import { CHUNKS, FRAMINGS, LINES } from './framings.ts';
import { HEADER_FLOODS, HOSTS, METHODS, TARGETS } from './heads.ts';
import { startHostileService } from './hostile-service.ts';
import { CREDENTIAL_VALUES, GRANTS_AND_SCOPES, PARAMETERS } from './parameters.ts';
import { PIPELINES } from './pipelines.ts';
import { TOKENS } from './tokens.ts';

describeHostileRequests('hostile requests', () => startHostileService(), {
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
});

// Last, since they take 15 s.
describeSlowConnections();
