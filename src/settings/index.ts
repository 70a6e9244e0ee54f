/** Reads the environment; no other file does. The table in docs/configuration.md is generated from `definitions`. */
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { StartError } from '../errors.ts'
import {
  type AllowedOrigins,
  emailAddress,
  folders,
  hostAndPort,
  hostName,
  httpUrl,
  issuerUrl,
  type LdapServer,
  type LogLevel,
  ldapFilter,
  ldapServer,
  loginFilter,
  logLevel,
  networks,
  origins,
  packages,
  postgresUrl,
  type Sendfile,
  secret,
  sendfile,
  setupCode,
  share,
  smtpServer,
  valueOrFile,
  wholeNumber,
} from './values.ts'

export type { AllowedOrigins, LogLevel, Sendfile } from './values.ts'

/** The message is one sentence that names the setting. */
export class SettingsError extends StartError {
  override name = 'SettingsError'
}

interface Definition<T, Default extends string | null> {
  description: string
  /** The default as text, as in the environment; null if the setting has none. */
  default: Default
  /** Shown in the documentation if `default` is null. */
  otherwise?: string
  /** @throws Error with the rest of the sentence "NAME must ..." */
  parse(text: string): T
}

export const definitions = {
  PORT: define('TCP port; 0 selects any free port', wholeNumber(0, 65535), '3000'),
  HOST: define('Address to listen on; the image sets `0.0.0.0`', text => text, '127.0.0.1'),
  STOWAGE_DATA: define(
    'Folder for the embedded database, the generated secret and the default local files',
    text => resolve(text),
    './data',
  ),
  DATABASE_URL: define(
    'Your own PostgreSQL, version 14 or newer (`postgres://...`)',
    postgresUrl,
    null,
    'the embedded database',
  ),
  STOWAGE_SECRET: define(
    'At least 32 bytes from which all keys are derived; required with `DATABASE_URL`, identical on every replica',
    secret,
    null,
    'generated at first start, kept in `<data>/secret`',
  ),
  STOWAGE_SECRET_PREVIOUS: define(
    'A second secret that is accepted, but not used for anything new: see [how to rotate it](operations.md#rotate-the-secret)',
    secret,
    null,
    'none',
  ),
  STOWAGE_SETUP_CODE: define(
    'A code of at least 16 characters, required to register the first account, which owns the workspace; not used later',
    setupCode,
    null,
    'none: the first to register becomes the owner',
  ),
  STOWAGE_PUBLIC_URL: define(
    'The address that clients use; links contain it',
    httpUrl,
    null,
    'the address of each request',
  ),
  STOWAGE_OIDC_ISSUER: define(
    'The OpenID Connect issuer with which people [sign in](single-sign-on.md), such as `https://id.example.com`; requires `STOWAGE_OIDC_CLIENT_ID` and `STOWAGE_OIDC_CLIENT_SECRET`',
    issuerUrl,
    null,
    'none: people sign in with passwords',
  ),
  STOWAGE_OIDC_CLIENT_ID: define('The ID of Stowage as a client of the issuer', text => text, null, 'none'),
  STOWAGE_OIDC_CLIENT_SECRET: define('The secret of this client', text => text, null, 'none'),
  STOWAGE_OIDC_GROUPS_CLAIM: define(
    'The claim of ID tokens, such as `groups`, with the names of the [groups](single-sign-on.md#groups) of a person',
    text => text,
    null,
    'none: groups do not follow the issuer',
  ),
  STOWAGE_LDAP_URL: define(
    'The [directory](directories.md#ldap) with whose passwords people sign in: `ldaps://ldap.example.com`, or `ldap://` with StartTLS; requires `STOWAGE_LDAP_BIND_DN`, `STOWAGE_LDAP_BIND_PASSWORD` and `STOWAGE_LDAP_BASE`',
    ldapServer,
    null,
    'none',
  ),
  STOWAGE_LDAP_BIND_DN: define('The DN of an account that can read people and groups', text => text, null, 'none'),
  STOWAGE_LDAP_BIND_PASSWORD: define('The password of this account', text => text, null, 'none'),
  STOWAGE_LDAP_BASE: define('The DN below which people and groups are', text => text, null, 'none'),
  STOWAGE_LDAP_FILTER: define(
    'Finds people in the directory; `{login}` stands for what somebody enters',
    loginFilter,
    '(&(objectClass=person)(|(uid={login})(mail={login})(sAMAccountName={login})))',
  ),
  STOWAGE_LDAP_GROUP_FILTER: define(
    'Finds groups in the directory, such as `(objectClass=groupOfNames)`, whose names are those of [groups](people.md)',
    ldapFilter,
    null,
    'none: groups do not follow the directory',
  ),
  STOWAGE_LDAP_SYNC_MINUTES: define(
    'Minutes between two readings of the directory, which deactivate people who have gone; `0` reads only at sign-ins',
    wholeNumber(0, 10_080),
    '60',
  ),
  STOWAGE_SMTP_URL: define(
    'The server that sends email about [shares](shares.md#email): `smtp://name:password@mail.example.com:587` with STARTTLS, or `smtps://` with TLS; requires `STOWAGE_PUBLIC_URL`',
    smtpServer,
    null,
    'none: no email is sent',
  ),
  STOWAGE_SMTP_FROM: define(
    'The address of the sender of email',
    emailAddress,
    null,
    '`stowage@` and the host of `STOWAGE_PUBLIC_URL`',
  ),
  STOWAGE_S3_DOMAIN: define(
    'A host name, such as `s3.example.com`, at which [S3](s3.md) is the whole server and each bucket has a host name of its own, `<bucket>.s3.example.com`',
    hostName,
    null,
    'none: S3 is at `/s3`',
  ),
  STOWAGE_CORS_ORIGINS: define(
    'Origins, separated by commas, whose [browser applications](access-and-keys.md#browser-applications-of-other-origins) can call the API; `*` allows every origin',
    origins,
    null,
    'none',
  ),
  STOWAGE_LOCAL_ROOTS: define(
    'Absolute folders, separated by commas, that contain the roots of local providers',
    folders,
    null,
    '`<data>/files`',
  ),
  STOWAGE_ADAPTERS: define('npm packages, separated by commas, that export adapters', packages, null, 'none'),
  STOWAGE_ALLOW_NETWORKS: define(
    'Addresses or networks, separated by commas, that providers can connect to although they are [closed](security-model.md#networks-that-providers-can-reach)',
    networks,
    null,
    'none',
  ),
  STOWAGE_DENY_NETWORKS: define(
    'Addresses or networks, separated by commas, that providers cannot connect to, in addition to those that are always closed',
    networks,
    null,
    'none',
  ),
  STOWAGE_TRUST_PROXY: define(
    'Addresses or networks, separated by commas, whose `X-Forwarded-*` headers are trusted',
    networks,
    null,
    'none',
  ),
  STOWAGE_SENDFILE: define(
    'Lets the proxy [send files of local disks](operations.md#let-the-proxy-send-files): `x-accel-redirect:/internal` or `x-sendfile`',
    sendfile,
    null,
    'off',
  ),
  STOWAGE_MAX_UPLOAD_BYTES: define(
    'Maximum size of an uploaded file, in bytes',
    wholeNumber(1, Number.MAX_SAFE_INTEGER),
    null,
    'no limit',
  ),
  STOWAGE_RATE_LIMIT: define(
    'Requests per minute with one credential; all sessions and API keys of a member together have four times as many, and so have all share links of a member; without a credential, the limit for one address is a tenth of this; `0` means no limit',
    wholeNumber(0, 1_000_000_000),
    '120000',
  ),
  STOWAGE_CONNECTION_LIMIT: define(
    'Open connections from one address, except proxies in `STOWAGE_TRUST_PROXY`; all addresses together can have ten times as many; `0` means no limit',
    wholeNumber(0, 1_000_000),
    '1000',
  ),
  STOWAGE_SIGN_IN_LIMIT: define(
    'Failed logins and new accounts per ten minutes from one address; the limit for one account is a tenth of this; `0` means no limit, also for the applications that register',
    wholeNumber(0, 1_000_000_000),
    '100',
  ),
  STOWAGE_DIRECT_SECONDS: define(
    'Maximum lifetime of a direct link to a back end, in seconds; such a link outlives its credential; `0` disables direct links',
    wholeNumber(0, 7 * 24 * 60 * 60),
    '900',
  ),
  STOWAGE_AUDIT_DAYS: define('Days that audit events are kept; `0` keeps them forever', wholeNumber(0, 36_500), '90'),
  STOWAGE_TRASH_DAYS: define(
    'Days that deleted files stay in the [trash](trash.md) of a storage that sets no other number and moves them there in one step; `0` deletes them at once',
    wholeNumber(0, 3650),
    '30',
  ),
  STOWAGE_CATALOGUE_HOURS: define(
    'Hours between two comparisons of each storage with its [catalogue](search.md), which the search needs; 0 keeps no catalogues',
    wholeNumber(0, 8760),
    '24',
  ),
  STOWAGE_PROCESSES: define(
    '[Server processes](operations.md#processes) behind the port',
    wholeNumber(1, 64),
    null,
    'one for each two processor cores, at most four',
  ),
  STOWAGE_WORKERS: define(
    'Jobs that this server runs at once; `0` runs only what its own requests wait for',
    wholeNumber(0, 100),
    '2',
  ),
  STOWAGE_THUMBNAIL_BYTES: define(
    'Maximum size of the cache of [thumbnails](thumbnails.md) in `<data>/thumbnails`, in bytes; `0` switches thumbnails off',
    wholeNumber(0, Number.MAX_SAFE_INTEGER),
    '1073741824',
  ),
  STOWAGE_METRICS_ADDRESS: define(
    'Address and port, such as `127.0.0.1:9464`, of the [metrics](operations.md#metrics) for Prometheus',
    hostAndPort,
    null,
    'none',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: define(
    'Address of an OpenTelemetry collector, such as `http://127.0.0.1:4318`, that receives [traces](operations.md#traces)',
    httpUrl,
    null,
    'none',
  ),
  OTEL_TRACES_SAMPLER_ARG: define(
    'Share of requests to trace, from `0` to `1`, unless the caller decides with `traceparent`',
    share,
    '1',
  ),
  STOWAGE_STALL_TIMEOUT: define(
    'Seconds without progress after which a client is disconnected during a download or an upload',
    wholeNumber(1, 86_400),
    '60',
  ),
  STOWAGE_BACK_END_TIMEOUT: define(
    'Seconds without progress after which a transfer with a back end fails; the end of an upload and a copy inside the back end can take twelve times as long',
    wholeNumber(1, 86_400),
    '300',
  ),
  LOG_LEVEL: define('One of `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`', logLevel, 'info'),
}

type SettingName = keyof typeof definitions
type Value<N extends SettingName> =
  | ReturnType<(typeof definitions)[N]['parse']>
  | ((typeof definitions)[N]['default'] extends null ? null : never)

export interface Settings {
  readonly port: number
  readonly host: string
  readonly dataFolder: string
  /** Null means the embedded database. */
  readonly databaseUrl: string | null
  /** Null means the secret in the data folder. */
  readonly secret: string | null
  /** A second secret that is accepted, but not used for anything new. */
  readonly previousSecret: string | null
  /** Null if the owner registers without a code. */
  readonly setupCode: string | null
  /** Without a trailing `/`. */
  readonly publicUrl: string | null
  /** The path of `publicUrl`, below which a proxy serves everything: "/stowage"; empty for the root. */
  readonly basePath: string
  /** The issuer of single sign-on; null if people sign in with passwords only. */
  readonly oidc: { issuer: string; clientId: string; clientSecret: string; groupsClaim: string | null } | null
  /** The LDAP directory; null for none. */
  readonly ldap:
    | (LdapServer & {
        bindDn: string
        bindPassword: string
        base: string
        filter: string
        groupFilter: string | null
        /** 0 reads only at sign-ins. */
        syncMinutes: number
      })
    | null
  /** The SMTP server, the sender, and the address in messages; null if the server sends no email. */
  readonly mail: { smtpUrl: string; from: string; publicUrl: string } | null
  /** Null if S3 has no host name of its own. */
  readonly s3Domain: string | null
  /** Other origins whose pages can call the API. */
  readonly corsOrigins: AllowedOrigins
  readonly localRoots: readonly string[]
  readonly adapterPackages: readonly string[]
  readonly allowedNetworks: readonly string[]
  readonly deniedNetworks: readonly string[]
  readonly trustedProxies: readonly string[]
  /** Null if the proxy sends no files. */
  readonly sendfile: Sendfile | null
  readonly maxUploadBytes: number
  /** Seconds; 0 disables direct links to a back end. */
  readonly directSeconds: number
  /** Requests per minute with one credential; 0 means no limit. */
  readonly rateLimit: number
  /** Open connections of one address; 0 means no limit. */
  readonly connectionLimit: number
  /** Failed logins per ten minutes from one address; 0 means no limit. */
  readonly signInLimit: number
  /** Days; 0 means forever. */
  readonly auditDays: number
  /** Days that deleted files stay in the trash, unless a provider sets another number; 0 deletes them at once. */
  readonly trashDays: number
  /** Hours between two comparisons of a storage with its catalogue; 0 means that there are no catalogues. */
  readonly catalogueHours: number
  /** Processes that share the port. */
  readonly processes: number
  /** Jobs that this server runs at once; 0 runs only those that its own requests wait for. */
  readonly workers: number
  /** Bytes of the cache of thumbnails; 0 switches thumbnails off. */
  readonly thumbnailBytes: number
  /** The folders of programs, as in PATH. */
  readonly searchPath: string
  /** Null if there are no metrics. */
  readonly metricsAddress: { host: string; port: number } | null
  /** The collector of the traces, without a trailing `/`; null if there are none. */
  readonly traceEndpoint: string | null
  /** The share of requests to trace, from 0 to 1. */
  readonly traceRatio: number
  /** Seconds. */
  readonly stallTimeout: number
  /** Seconds. */
  readonly backEndTimeout: number
  readonly logLevel: LogLevel
}

/** @throws SettingsError */
export function readSettings(environment: Record<string, string | undefined>): Settings {
  const read = <N extends SettingName>(name: N) => readOne(environment, name)
  const dataFolder = read('STOWAGE_DATA')
  const databaseUrl = read('DATABASE_URL')
  const secret = read('STOWAGE_SECRET')
  if (databaseUrl !== null && secret === null) {
    throw new SettingsError(
      'STOWAGE_SECRET must be set together with DATABASE_URL: create one with "openssl rand -hex 32" and keep it.',
    )
  }
  const previousSecret = read('STOWAGE_SECRET_PREVIOUS')
  if (previousSecret !== null && secret === null) {
    throw new SettingsError('STOWAGE_SECRET must be set together with STOWAGE_SECRET_PREVIOUS.')
  }
  const publicUrl = read('STOWAGE_PUBLIC_URL')
  const smtpUrl = read('STOWAGE_SMTP_URL')
  if (smtpUrl !== null && publicUrl === null) {
    throw new SettingsError(
      'STOWAGE_PUBLIC_URL must be set together with STOWAGE_SMTP_URL, because emails contain links.',
    )
  }
  const issuer = read('STOWAGE_OIDC_ISSUER')
  const [clientId, clientSecret] = [read('STOWAGE_OIDC_CLIENT_ID'), read('STOWAGE_OIDC_CLIENT_SECRET')]
  if (issuer !== null && (clientId === null || clientSecret === null)) {
    throw new SettingsError(
      'STOWAGE_OIDC_CLIENT_ID and STOWAGE_OIDC_CLIENT_SECRET must be set together with STOWAGE_OIDC_ISSUER.',
    )
  }
  const ldapUrl = read('STOWAGE_LDAP_URL')
  const [bindDn, bindPassword] = [read('STOWAGE_LDAP_BIND_DN'), read('STOWAGE_LDAP_BIND_PASSWORD')]
  const base = read('STOWAGE_LDAP_BASE')
  if (ldapUrl !== null && (bindDn === null || bindPassword === null || base === null)) {
    throw new SettingsError(
      'STOWAGE_LDAP_BIND_DN, STOWAGE_LDAP_BIND_PASSWORD and STOWAGE_LDAP_BASE must be set together with STOWAGE_LDAP_URL.',
    )
  }
  const mailFrom = read('STOWAGE_SMTP_FROM')
  const sendfile = read('STOWAGE_SENDFILE')
  const trustedProxies = read('STOWAGE_TRUST_PROXY') ?? []
  if (sendfile && trustedProxies.length === 0) {
    throw new SettingsError(
      'STOWAGE_TRUST_PROXY must be set together with STOWAGE_SENDFILE: set it to the address of the proxy.',
    )
  }
  return Object.freeze({
    port: read('PORT'),
    host: read('HOST'),
    dataFolder,
    databaseUrl,
    secret,
    previousSecret,
    setupCode: read('STOWAGE_SETUP_CODE'),
    publicUrl,
    basePath: new URL(publicUrl ?? 'http://localhost').pathname.replace(/\/$/, ''),
    oidc:
      issuer !== null && clientId !== null && clientSecret !== null
        ? { issuer, clientId, clientSecret, groupsClaim: read('STOWAGE_OIDC_GROUPS_CLAIM') }
        : null,
    ldap:
      ldapUrl !== null && bindDn !== null && bindPassword !== null && base !== null
        ? {
            ...ldapUrl,
            bindDn,
            bindPassword,
            base,
            filter: read('STOWAGE_LDAP_FILTER'),
            groupFilter: read('STOWAGE_LDAP_GROUP_FILTER'),
            syncMinutes: read('STOWAGE_LDAP_SYNC_MINUTES'),
          }
        : null,
    mail:
      smtpUrl !== null && publicUrl !== null
        ? { smtpUrl, publicUrl, from: mailFrom ?? `stowage@${new URL(publicUrl).hostname}` }
        : null,
    s3Domain: read('STOWAGE_S3_DOMAIN'),
    corsOrigins: read('STOWAGE_CORS_ORIGINS') ?? [],
    localRoots: read('STOWAGE_LOCAL_ROOTS') ?? [join(dataFolder, 'files')],
    adapterPackages: read('STOWAGE_ADAPTERS') ?? [],
    allowedNetworks: read('STOWAGE_ALLOW_NETWORKS') ?? [],
    deniedNetworks: read('STOWAGE_DENY_NETWORKS') ?? [],
    trustedProxies,
    sendfile,
    maxUploadBytes: read('STOWAGE_MAX_UPLOAD_BYTES') ?? Number.MAX_SAFE_INTEGER,
    rateLimit: read('STOWAGE_RATE_LIMIT'),
    connectionLimit: read('STOWAGE_CONNECTION_LIMIT'),
    signInLimit: read('STOWAGE_SIGN_IN_LIMIT'),
    directSeconds: read('STOWAGE_DIRECT_SECONDS'),
    auditDays: read('STOWAGE_AUDIT_DAYS'),
    trashDays: read('STOWAGE_TRASH_DAYS'),
    catalogueHours: read('STOWAGE_CATALOGUE_HOURS'),
    processes: read('STOWAGE_PROCESSES') ?? Math.min(4, Math.ceil(availableParallelism() / 2)),
    workers: read('STOWAGE_WORKERS'),
    thumbnailBytes: read('STOWAGE_THUMBNAIL_BYTES'),
    searchPath: environment.PATH ?? '',
    metricsAddress: read('STOWAGE_METRICS_ADDRESS'),
    traceEndpoint: read('OTEL_EXPORTER_OTLP_ENDPOINT'),
    traceRatio: read('OTEL_TRACES_SAMPLER_ARG'),
    stallTimeout: read('STOWAGE_STALL_TIMEOUT'),
    backEndTimeout: read('STOWAGE_BACK_END_TIMEOUT'),
    logLevel: read('LOG_LEVEL'),
  })
}

/** An empty value counts as unset, because compose files pass unset variables as empty ones. */
function readOne<N extends SettingName>(environment: Record<string, string | undefined>, name: N): Value<N> {
  const definition: Definition<unknown, string | null> = definitions[name]
  const text = read(environment, name) || definition.default
  if (text === null) return null as Value<N>
  try {
    return definition.parse(text) as Value<N>
  } catch (error) {
    throw new SettingsError(`${name} must ${error instanceof Error ? error.message : error}.`)
  }
}

/** @throws SettingsError */
function read(environment: Record<string, string | undefined>, name: string): string | undefined {
  try {
    return valueOrFile(environment, name)
  } catch (error) {
    throw new SettingsError(`${name}_FILE must ${error instanceof Error ? error.message : error}.`, { cause: error })
  }
}

function define<T, Default extends string | null>(
  description: string,
  parse: (text: string) => T,
  defaultText: Default,
  otherwise?: string,
): Definition<T, Default> {
  return { description, parse, default: defaultText, ...(otherwise === undefined ? {} : { otherwise }) }
}
