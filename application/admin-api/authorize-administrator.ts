import { type Refusal, refused } from '../../domain/refusal.ts';
import { type Result, success } from '../../domain/result.ts';
import { Scope } from '../../domain/scope.ts';
import { isActive } from '../../domain/token-activity.ts';
import type { TokenPolicy } from '../../domain/token-policy.ts';
import type { AuthorizeRequest, Bearer, BearerRequest } from '../authorize-request.ts';
import type { ClientRepository } from '../ports/client-repository.ts';

interface AuthorizeAdministratorParts {
  /** For tokens of the API alone. */
  readonly authorizeRequest: Pick<AuthorizeRequest, 'execute'>;
  readonly clients: Pick<ClientRepository, 'findByClientId'>;
  readonly policy: Pick<TokenPolicy, 'grant'>;
  /** The resource that such tokens are requested for. */
  readonly resource: string;
}

/** Decides whether a client may manage clients: by its token, and by its registration as it is stored now. */
export class AuthorizeAdministrator {
  readonly #parts: AuthorizeAdministratorParts;

  constructor(parts: AuthorizeAdministratorParts) {
    this.#parts = parts;
  }

  /**
   * The bearer, with those scopes of the token that it would still get, or a refusal. Costs a look-up. Throws what the
   * ports throw.
   */
  async execute(request: BearerRequest): Promise<Result<Bearer, Refusal>> {
    const { authorizeRequest, clients, policy, resource } = this.#parts;
    const bearer = await authorizeRequest.execute(request);
    if (!bearer.ok) return bearer;
    const { clientId } = bearer.value;
    const lookup = await clients.findByClientId(clientId);
    const registration = lookup.kind === 'found' ? lookup.registration : undefined;
    if (!isActive(registration)) return refused('token_client_inactive', clientId);
    const scopes = bearer.value.scopes.filter((text) => {
      const scope = Scope.parse(text);
      return scope.ok && policy.grant(registration, scope.value, [resource]).ok;
    });
    const required = request.requiredScope?.toArray() ?? [];
    if (!required.every((scope) => scopes.includes(scope))) return refused('scope_insufficient', clientId);
    return success({ ...bearer.value, scopes });
  }
}
