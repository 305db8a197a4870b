export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface TokenRequest extends Credentials {
  readonly grantType?: string;
  readonly scope?: string;
}

export interface Token {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly scope?: string;
}

interface Place {
  readonly code: string;
  readonly city: string;
  readonly region: string;
  readonly country: string;
  readonly countryCode: string;
  readonly enabled: boolean;
}

/** The value that the service returned, or the status and the error code. `challenge` is the WWW-Authenticate field. */
export type Outcome<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'refused'; readonly status: number; readonly error: string; readonly challenge?: string };

/** A program of another team: it requests tokens and reads locations, and reads only what it needs of each response. */
export class ApiClient {
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  async getToken({ clientId, clientSecret, grantType = 'client_credentials', scope }: TokenRequest) {
    const body = new URLSearchParams({ grant_type: grantType, client_id: clientId, client_secret: clientSecret });
    if (scope !== undefined) body.set('scope', scope);
    const response = await fetch(`${this.#baseUrl}/oauth2/token`, { method: 'POST', body });
    return read(response, (answer): Token => {
      if (answer['token_type'] !== 'Bearer') throw new Error('the token type is not Bearer');
      return {
        accessToken: String(answer['access_token']),
        expiresInSeconds: Number(answer['expires_in']),
        ...(answer['scope'] !== undefined && { scope: String(answer['scope']) }),
      };
    });
  }

  async getPlace(code: string, accessToken?: string): Promise<Outcome<Place>> {
    const headers: Record<string, string> = accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` };
    const response = await fetch(`${this.#baseUrl}/v1/locations/${code}`, { headers });
    return read(response, (answer) => ({
      code: String(answer['code']),
      city: String(answer['city_name']),
      region: String(answer['region_name']),
      country: String(answer['country_name']),
      countryCode: String(answer['country_code']),
      enabled: answer['enabled'] === true,
    }));
  }
}

async function read<Value>(
  response: Response,
  convert: (answer: Record<string, unknown>) => Value,
): Promise<Outcome<Value>> {
  const answer = (await response.json()) as Record<string, unknown>;
  if (response.ok) return { kind: 'value', value: convert(answer) };
  const challenge = response.headers.get('WWW-Authenticate');
  const refused = { kind: 'refused', status: response.status, error: String(answer['error']) } as const;
  return challenge === null ? refused : { ...refused, challenge };
}
