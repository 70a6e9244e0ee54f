/** The address where a person gives consent at Microsoft Entra ID, with PKCE. */
export function entraConsentUrl(
  { authority, tenant, clientId, scope }: { authority: string; tenant: string; clientId: string; scope: string },
  { redirectUri, state, codeChallenge }: { redirectUri: string; state: string; codeChallenge: string },
): URL {
  // https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow#request-an-authorization-code
  const url = new URL(`${authority}${tenant}/oauth2/v2.0/authorize`)
  const query = {
    client_id: clientId,
    response_type: 'code',
    response_mode: 'query',
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    // Otherwise the browser's current account gives consent without a question.
    prompt: 'select_account',
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}
