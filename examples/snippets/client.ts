import createClient from 'openapi-fetch';
import type { components, paths } from './service.d.ts';

type TokenRequest = components['schemas']['TokenRequest'];

const service = createClient<paths>({ baseUrl: 'https://auth.example.com' });

export async function getToken(request: TokenRequest): Promise<string> {
  const { data, error } = await service.POST('/oauth2/token', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: request,
    bodySerializer: ({ resource = [], ...others }: TokenRequest) => {
      const form = new URLSearchParams(others);
      for (const uri of resource) form.append('resource', uri);
      return form;
    },
  });
  if (error !== undefined) throw new Error(`${error.error}: ${error.error_description ?? 'no description'}`);
  return data.access_token;
}

export async function getCity(token: string): Promise<string | undefined> {
  const { data } = await service.GET('/v1/locations/{code}', {
    params: { path: { code: 'NYC_USA' } },
    headers: { authorization: `Bearer ${token}` },
  });
  return data?.city_name;
}
