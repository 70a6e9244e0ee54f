/**
 * Passkeys: Web Authentication, https://www.w3.org/TR/webauthn-3/. Each verifies its user and is discoverable, so it is a sign-in
 * without a name and a password. Passkeys belong to the host of the console: no other site can use them.
 */
import { AppError } from '../errors.ts'

/** The site to which passkeys belong. */
export interface RelyingParty {
  /** The host, without a port. */
  id: string
  origin: string
}

export function relyingPartyOf(baseUrl: string): RelyingParty {
  const { hostname, origin } = new URL(baseUrl)
  return { id: hostname, origin }
}

/** The options that browsers pass to `navigator.credentials`, in JSON. */
export type PasskeyOptions = object

interface KnownPasskey {
  credentialId: Buffer
  transports: readonly string[]
}

/** Milliseconds that a person has for the dialog of the browser. */
export const passkeyTime = 5 * 60 * 1000
/** COSE: Ed25519, ES256, RS256. */
const algorithms = [-8, -7, -257]
/** Characters of each text in an answer: certificates of an authenticator take a few thousand. */
const maxText = 20_000
const maxTransports = 10

/** @param challenge bytes that the passkey signs */
export async function creationOptions(given: {
  party: RelyingParty
  challenge: Uint8Array<ArrayBuffer>
  user: { id: string; email: string; name: string | null }
  known: readonly KnownPasskey[]
}): Promise<PasskeyOptions> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  const { party, challenge, user, known } = given
  return generateRegistrationOptions({
    rpName: 'Stowage',
    rpID: party.id,
    userID: new TextEncoder().encode(user.id),
    userName: user.email,
    userDisplayName: user.name ?? user.email,
    challenge,
    timeout: passkeyTime,
    attestationType: 'none',
    excludeCredentials: known.map(descriptionOf),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  })
}

/** @param known the passkeys of a member; none to let the person choose one of this site */
export async function requestOptions(given: {
  party: RelyingParty
  challenge: Uint8Array<ArrayBuffer>
  known: readonly KnownPasskey[]
}): Promise<PasskeyOptions> {
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  return generateAuthenticationOptions({
    rpID: given.party.id,
    challenge: given.challenge,
    timeout: passkeyTime,
    userVerification: 'required',
    allowCredentials: given.known.map(descriptionOf),
  })
}

function descriptionOf({ credentialId, transports }: KnownPasskey) {
  return { id: credentialId.toString('base64url'), transports: [...transports] }
}

/** Returns whether a challenge, in base64url, is the one that the passkey had to sign. */
export type IsExpected = (challenge: string) => boolean

/** Returns the passkey that a browser has created. @throws WRONG_PASSKEY, INVALID_INPUT */
export async function verifyCreation(answer: unknown, party: RelyingParty, isExpected: IsExpected) {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { id, response } = parseAnswer(answer)
  const { attestationObject } = textsOf(response, ['attestationObject'])
  const { clientDataJSON } = textsOf(response, ['clientDataJSON'])
  const verified = await verifyRegistrationResponse({
    response: {
      id,
      rawId: id,
      type: 'public-key',
      response: { attestationObject, clientDataJSON },
      clientExtensionResults: {},
    },
    expectedChallenge: isExpected,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  }).catch(cause => {
    throw wrongPasskey(cause)
  })
  if (!verified.verified) throw wrongPasskey()
  const { credential, credentialBackedUp } = verified.registrationInfo
  return {
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: transportsOf(response),
    isSynced: credentialBackedUp,
  }
}

/** Returns the id of the passkey that an answer names. @throws INVALID_INPUT */
export function namedPasskey(answer: unknown): Buffer {
  return Buffer.from(parseAnswer(answer).id, 'base64url')
}

/** Verifies that a passkey has signed the challenge now. Returns its count of signatures. @throws WRONG_PASSKEY, INVALID_INPUT */
export async function verifyPasskey(
  answer: unknown,
  passkey: KnownPasskey & { publicKey: Buffer; counter: number },
  party: RelyingParty,
  isExpected: IsExpected,
): Promise<number> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const { id, response } = parseAnswer(answer)
  const texts = textsOf(response, ['authenticatorData', 'clientDataJSON', 'signature'])
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { id, rawId: id, type: 'public-key', response: texts, clientExtensionResults: {} },
    expectedChallenge: isExpected,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    credential: {
      id: passkey.credentialId.toString('base64url'),
      publicKey: new Uint8Array(passkey.publicKey),
      counter: passkey.counter,
    },
  }).catch(cause => {
    throw wrongPasskey(cause)
  })
  if (!verified) throw wrongPasskey()
  return authenticationInfo.newCounter
}

function malformed(): AppError {
  return new AppError('INVALID_INPUT', 'A passkey is the answer of the browser: `credential.toJSON()`.')
}

export function wrongPasskey(cause?: unknown): AppError {
  return new AppError('WRONG_PASSKEY', undefined, { cause })
}

/** Web Authentication, section 5.1: PublicKeyCredentialJSON. @throws INVALID_INPUT */
function parseAnswer(answer: unknown): { id: string; response: object } {
  if (!isObject(answer)) throw malformed()
  const { id } = textsOf(answer, ['id'])
  if (!/^[\w-]{1,1364}$/.test(id) || !('response' in answer) || !isObject(answer.response)) throw malformed()
  return { id, response: answer.response }
}

function textsOf<const Name extends string>(object: object, names: readonly Name[]): Record<Name, string> {
  const entries = names.map(name => {
    const text: unknown = Reflect.get(object, name)
    if (typeof text !== 'string' || text.length > maxText) throw malformed()
    return [name, text]
  })
  return Object.fromEntries(entries)
}

function transportsOf(response: object): string[] {
  const given: unknown = Reflect.get(response, 'transports')
  if (!Array.isArray(given)) return []
  const isName = (each: unknown): each is string => typeof each === 'string' && /^[a-z-]{1,30}$/.test(each)
  return given.slice(0, maxTransports).filter(isName)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
