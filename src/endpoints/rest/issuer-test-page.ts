/** The page of a test sign-in. */
import type { FastifyReply } from 'fastify'
import type { IssuerTestOutcome } from '../../services/people/issuer-tests.ts'
import { html, sendPage } from './consent-page.ts'

/** The number of groups that the page names. */
const maxShown = 100

const notTimed = 'not named: people without a password cannot confirm who they are'

/** Sends what the issuer has said about a person, and what a sign-in would do. */
export function sendTestOutcome(reply: FastifyReply, outcome: IssuerTestOutcome): FastifyReply {
  const { issued, linkedTo, admission, refusal, groups } = outcome
  const facts: readonly (readonly [string, string])[] = [
    ['Issuer', issued.issuer],
    ['Subject', issued.subject],
    ['Email', issued.email ?? 'not named'],
    ['Email is verified', issued.isEmailVerified ? 'yes' : 'no'],
    ['Name', issued.name ?? 'not named'],
    ['Groups at the issuer', issued.groups === null ? 'not read: no claim is set' : listOf(issued.groups)],
    ['Time of sign-in (auth_time)', issued.authenticatedAt?.toISOString() ?? notTimed],
    ['Session at the issuer', issued.issuerSession === null ? 'not named' : 'named'],
  ]
  return sendPage(reply, 'The test sign-in succeeded', [
    html`<p>Nothing was changed. This is what the issuer says about you:</p>`,
    ...facts.map(([name, value]) => html`<p><span class="help">${name}</span><br><b>${value}</b></p>`),
    html`<h2>What a sign-in would do</h2>`,
    html`<p>${consequence(linkedTo, admission, refusal)}</p>`,
    ...(refusal === null ? [html`<p>Groups in Stowage: <b>${listOf(groups)}</b></p>`] : []),
    html`<p>You can close this page.</p>`,
  ])
}

function consequence(linkedTo: string | null, admission: IssuerTestOutcome['admission'], refusal: string | null) {
  if (linkedTo !== null) return `It would sign you in to the account ${linkedTo}, which is linked with this identity.`
  if (refusal !== null) return `It would be refused, unless you have an invite: ${refusal}`
  return admission === 'DOMAIN'
    ? 'It would create an account, because your verified email is in a domain of the issuer.'
    : 'It would create an account, because of a group that the issuer names.'
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  const more = names.length - maxShown
  return names.slice(0, maxShown).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
