/** The file that `stowage apply` reads. */
import { readFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { type Role, roles, type Scope, scopes } from '../../auth/scopes.ts'
import { groupKey } from '../../db/groups.ts'
import {
  encodings,
  type IssuerPrompt,
  issuerPrompts,
  type NameEncoding,
  type NameEncryption,
  nameEncryptions,
  type Registration,
  registrations,
  type UploadSource,
  uploadSources,
} from '../../db/schema.ts'
import { emailKey } from '../../db/users.ts'
import { StartError } from '../../errors.ts'
import { maxCopies, recheckDays } from '../../services/jobs/index.ts'
import { maxMaxAge } from '../../services/people/issuers.ts'
import { maxTrashDays, maxVersionCount, maxVersionDays } from '../../services/providers/settings.ts'
import { type WebhookEvent, webhookEvents } from '../../services/webhooks/messages.ts'

export interface Declaration {
  /** The first account. Ignored once the workspace has an owner. */
  owner?: { email: string; passwordFile: string }
  workspace?: {
    name?: string
    registration?: Registration
    secondFactorRoles?: Role[]
    scannedUploads?: UploadSource[]
  }
  providers?: DeclaredProvider[]
  /** The folders that each named access includes, by the names of their providers. */
  access?: Record<string, Record<string, string | string[]>>
  members?: DeclaredMember[]
  serviceAccounts?: DeclaredServiceAccount[]
  groups?: DeclaredGroup[]
  keys?: DeclaredKey[]
  webhooks?: DeclaredWebhook[]
  issuers?: DeclaredIssuer[]
  quotas?: DeclaredQuota[]
  copies?: DeclaredCopies[]
}

export interface DeclaredProvider {
  name: string
  /** The name in addresses. By default, it is made from the name and does not change. */
  slug?: string
  type: string
  /** The days that deleted files stay in the trash. By default, they do not change. */
  trashDays?: number
  /** The number of earlier versions of a file, and the days that they stay. By default, they do not change. */
  versionCount?: number
  versionDays?: number
  config?: Record<string, unknown>
  /** How a new storage is encrypted. It cannot change later. */
  encryption?: DeclaredEncryption
  /** The files that contain secret properties of the configuration, by the names of the properties. */
  secretFiles?: Record<string, string>
}

export interface DeclaredEncryption {
  /** The files that contain the password and the salt. */
  passwordFile: string
  saltFile?: string
  names?: NameEncryption
  encoding?: NameEncoding
  encryptFolderNames?: boolean
  suffix?: string
}

export interface DeclaredMember {
  email: string
  role: Role
  /** A name in `access`. Default: all providers. */
  access?: string
}

export interface DeclaredServiceAccount {
  name: string
  role: Role
  access?: string
}

export interface DeclaredGroup {
  name: string
  role: Role
  access?: string
  /** Emails of members, and names of service accounts. Without them, the members are not compared. */
  members?: string[]
}

export interface DeclaredKey {
  name: string
  /** The email of a member, or the name of a service account. */
  owner: string
  scopes: Scope[]
  access?: string
  /** The file that contains the key, `stw_` and 40 hexadecimal digits. */
  file: string
  /** A public key of SSH, as a line of an `.pub` file. */
  publicKey?: string
}

export interface DeclaredWebhook {
  name: string
  url: string
  events: WebhookEvent[]
  location?: { provider: string; path: string }
  /** The file that contains the signing secret. */
  secretFile: string
}

/** An issuer of single sign-on. */
export interface DeclaredIssuer {
  name: string
  /** Its address, exactly as its metadata name it. */
  issuer: string
  clientId: string
  /** The file that contains the secret of the client. */
  secretFile: string
  groupsClaim?: string
  /** A verified email in one of these domains gives an account at the first sign-in. */
  domains?: string[]
  prompt?: IssuerPrompt
  maxAgeMinutes?: number
  /** The names of the groups that such an account joins. */
  groups?: string[]
}

/** The quota of a storage or one of its folders, or of a member. */
export interface DeclaredQuota {
  provider?: string
  /** Default: the whole storage. */
  path?: string
  /** An email, or the name of a service account. */
  member?: string
  bytes?: number
  files?: number
}

export interface DeclaredLocation {
  provider: string
  path: string
}

/** A schedule that keeps copies of a folder in other storages. */
export interface DeclaredCopies {
  name: string
  folder: DeclaredLocation
  copies: DeclaredLocation[]
  /** Default: each night at three o'clock, in UTC. */
  cron?: string
  timeZone?: string
  /** Default: false. */
  repair?: boolean
  deleteExtra?: boolean
  recheckDays?: number
}

/** Bytes. */
const maxSize = 1024 * 1024

/** Reads and checks a declaration. @throws StartError */
export async function readDeclaration(file: string): Promise<Declaration> {
  const declared: unknown = parseYaml(file, await readText(file))
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<Declaration>(schema)
  if (!validate(declared ?? {})) {
    const problems = (validate.errors ?? []).slice(0, 10).map(({ instancePath, message, params }) => {
      const name = 'additionalProperty' in params ? ` "${params.additionalProperty}"` : ''
      return `${instancePath || 'the file'} ${message}${name}`
    })
    throw new StartError(`${file} is invalid: ${problems.join('; ')}.`)
  }
  const declaration = (declared ?? {}) as Declaration
  requireUnique(file, declaration)
  return declaration
}

/** Reads a secret from a file, without white space around it. @throws StartError */
export async function readSecretOf(file: string): Promise<string> {
  const text = (await readText(file)).trim()
  if (text === '') throw new StartError(`${file} is empty: it has to contain a secret.`)
  return text
}

async function readText(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(cause => {
    throw new StartError(`${file} cannot be read (${cause.code}).`, { cause })
  })
  if (text.length > maxSize) throw new StartError(`${file} is larger than 1 MiB.`)
  return text
}

function parseYaml(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch (cause) {
    const [line = ''] = (cause instanceof Error ? cause.message : String(cause)).split('\n')
    throw new StartError(`${file} is no valid YAML: ${line}`, { cause })
  }
}

/** Things are found by their names, so two with one name cannot be told apart. */
function requireUnique(file: string, declaration: Declaration): void {
  const { providers = [], members = [], serviceAccounts = [], groups = [], keys = [] } = declaration
  const { webhooks = [], issuers = [], copies = [] } = declaration
  const lists: [string, string[]][] = [
    ['storage', providers.map(({ name }) => name)],
    ['member', members.map(({ email }) => emailKey(email))],
    ['service account', serviceAccounts.map(({ name }) => name)],
    ['group', groups.map(({ name }) => groupKey(name))],
    ['key', keys.map(({ owner, name }) => `${name} of ${emailKey(owner)}`)],
    ['webhook', webhooks.map(({ name }) => name)],
    ['schedule of kept copies', copies.map(({ name }) => name)],
    ['issuer', issuers.map(({ name }) => name)],
    ['address of an issuer', issuers.map(({ issuer }) => issuer)],
  ]
  for (const [what, names] of lists) {
    const repeated = names.find((name, index) => names.indexOf(name) !== index)
    if (repeated !== undefined) throw new StartError(`${file} declares the ${what} "${repeated}" twice.`)
  }
}

const text = { type: 'string', minLength: 1 } as const
const limit = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const
const limits = { anyOf: [{ required: ['bytes'] }, { required: ['files'] }] }
const minutes = { type: 'integer', minimum: 0, maximum: maxMaxAge } as const
const kept = {
  trashDays: { type: 'integer', minimum: 0, maximum: maxTrashDays },
  versionCount: { type: 'integer', minimum: 0, maximum: maxVersionCount },
  versionDays: { type: 'integer', minimum: 1, maximum: maxVersionDays },
} as const
const texts = { type: 'object', additionalProperties: text } as const
const folders = {
  type: 'object',
  additionalProperties: { ...text, type: ['string', 'array'], items: text, minItems: 1 },
  minProperties: 1,
}

function object(required: Record<string, object>, optional: Record<string, object> = {}) {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(required),
    properties: { ...required, ...optional },
  }
}

function list(items: object) {
  return { type: 'array', items }
}

const location = object({ provider: text, path: text })

const oneOf = (values: readonly string[]) => ({ enum: [...values] })

const encryption = object(
  { passwordFile: text },
  {
    saltFile: text,
    names: oneOf(nameEncryptions),
    encoding: oneOf(encodings),
    encryptFolderNames: { type: 'boolean' },
    suffix: text,
  },
)

const schema = object(
  {},
  {
    owner: object({ email: text, passwordFile: text }),
    workspace: object(
      {},
      {
        name: text,
        registration: oneOf(registrations),
        secondFactorRoles: list(oneOf(roles)),
        scannedUploads: list(oneOf(uploadSources)),
      },
    ),
    providers: list(
      object(
        { name: text, type: text },
        { slug: text, ...kept, config: { type: 'object' }, secretFiles: texts, encryption },
      ),
    ),
    access: { type: 'object', additionalProperties: folders },
    members: list(object({ email: text, role: oneOf(roles) }, { access: text })),
    serviceAccounts: list(object({ name: text, role: oneOf(roles) }, { access: text })),
    groups: list(object({ name: text, role: oneOf(roles) }, { access: text, members: list(text) })),
    keys: list(
      object(
        { name: text, owner: text, scopes: { ...list(oneOf(scopes)), minItems: 1 }, file: text },
        { access: text, publicKey: text },
      ),
    ),
    webhooks: list(
      object(
        {
          name: text,
          url: text,
          events: { ...list(oneOf(Object.keys(webhookEvents))), minItems: 1 },
          secretFile: text,
        },
        { location },
      ),
    ),
    issuers: list(
      object(
        { name: text, issuer: text, clientId: text, secretFile: text },
        {
          groupsClaim: text,
          domains: list(text),
          groups: list(text),
          prompt: oneOf(issuerPrompts),
          maxAgeMinutes: minutes,
        },
      ),
    ),
    quotas: list({
      ...object({}, { provider: text, path: text, member: text, bytes: limit, files: limit }),
      ...limits,
      oneOf: [{ required: ['provider'] }, { required: ['member'], not: { required: ['path'] } }],
    }),
    copies: list(
      object(
        { name: text, folder: location, copies: { ...list(location), minItems: 1, maxItems: maxCopies } },
        {
          cron: text,
          timeZone: text,
          repair: { type: 'boolean' },
          deleteExtra: { type: 'boolean' },
          recheckDays: { type: 'integer', minimum: 0, maximum: recheckDays.max },
        },
      ),
    ),
  },
)
