import { describe, expect, it } from '@jest/globals';
import { AUTHORIZATIONS } from '../hostile/authorizations.ts';
import { CONTENT_CODINGS, ENCODINGS, MEDIA_TYPES } from '../hostile/encodings.ts';
import { CHUNKS, FRAMINGS } from '../hostile/framings.ts';
import { CREDENTIAL_VALUES, GRANTS_AND_SCOPES, PARAMETERS } from '../hostile/parameters.ts';
import { findProblems, readExplanations } from './explanations.ts';

const SAME = { name: 'the same', service: '400 invalid_request', peer: '400 invalid_request' };
const OTHER = { name: 'another', service: '401 invalid_client', peer: '200 token' };

describe('the differential run', () => {
  it('has no problem with a difference that is explained', () => {
    expect(findProblems([SAME, OTHER], [OTHER])).toEqual([]);
  });

  it('reports a difference that is not explained, or explained for other answers', () => {
    expect(findProblems([SAME, OTHER], [])).toEqual(['not explained: | another | 401 invalid_client | 200 token |']);
    expect(findProblems([OTHER], [{ ...OTHER, peer: '401 invalid_client' }])).toHaveLength(2);
  });

  it('reports an explanation of a request that is answered the same, or is no longer sent', () => {
    expect(findProblems([SAME], [SAME])).toEqual(['not so: | the same | 400 invalid_request | 400 invalid_request |']);
    expect(findProblems([], [OTHER])).toHaveLength(1);
    expect(findProblems([OTHER], [OTHER, OTHER])).toEqual([expect.stringMatching(/^explained twice/)]);
  });
});

describe('tests/differential/README.md', () => {
  const requests = new Map(
    [
      ENCODINGS,
      MEDIA_TYPES,
      CONTENT_CODINGS,
      PARAMETERS,
      CREDENTIAL_VALUES,
      GRANTS_AND_SCOPES,
      AUTHORIZATIONS,
      FRAMINGS,
      CHUNKS,
    ]
      .flat()
      .map((request) => [request.name, request]),
  );

  it('explains requests of the table, by the answers that they expect of this service', () => {
    const explanations = readExplanations();
    expect(explanations.length).toBeGreaterThan(100);
    for (const { name, service } of explanations) {
      const [answer] = requests.get(name)?.answers ?? [];
      expect([name, service]).toEqual([name, answer?.isToken ? '200 token' : `${answer?.status} ${answer?.error}`]);
    }
  });
});
