/** Reads the environment; no other file does. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { StartError } from '../errors.ts'
import { type Definition, definitions, type SettingName, type Value } from './definitions.ts'
import {
  type AllowedOrigins,
  type ClamdServer,
  type IssuerQuestion,
  type LdapServer,
  type LogLevel,
  type Sendfile,
  valueOrFile,
} from './values.ts'

export type { AllowedOrigins, LogLevel, Sendfile } from './values.ts'

/** The message is one sentence that names the setting. */
export class SettingsError extends StartError {
  override name = 'SettingsError'
}

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
  readonly oidc: {
    issuer: string
    clientId: string
    clientSecret: string
    groupsClaim: string | null
    prompt?: IssuerQuestion
    /** 0 for no limit. */
    maxAgeMinutes?: number
  } | null
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
  /** The SMTP server, the sender, the address in messages, and whether people get links for a new password; null if the server sends no email. */
  readonly mail: { smtpUrl: string; from: string; publicUrl: string; sendsResets: boolean } | null
  /** Whether people can get push notifications, and the operator's address for push services; null for none. */
  readonly push: { isEnabled: boolean; contact: string | null }
  /** The clamd that scans uploads; null for none. */
  readonly scanner: { address: ClamdServer; acceptsUnscanned: boolean } | null
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
  /** Earlier versions of a file that are kept, where that takes no copy and the provider sets no other number; 0 keeps none. */
  readonly versionCount: number
  /** Days that earlier versions are kept, unless a provider sets another number. */
  readonly versionDays: number
  /** Hours between two comparisons of a storage with its catalogue; 0 means that there are no catalogues. */
  readonly catalogueHours: number
  /** Processes that share the port. */
  readonly processes: number
  /** Jobs that this server runs at once; 0 runs only those that its own requests wait for. */
  readonly workers: number
  /** Bytes of the cache of thumbnails and renditions; 0 switches them off. */
  readonly thumbnailBytes: number
  /** The folders of programs, as in PATH. */
  readonly searchPath: string
  /** Null if there is no SFTP. */
  readonly sftpAddress: { host: string; port: number } | null
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
  const [prompt, maxAgeMinutes] = [read('STOWAGE_OIDC_PROMPT'), read('STOWAGE_OIDC_MAX_AGE_MINUTES')]
  const ldapUrl = read('STOWAGE_LDAP_URL')
  const [bindDn, bindPassword] = [read('STOWAGE_LDAP_BIND_DN'), read('STOWAGE_LDAP_BIND_PASSWORD')]
  const base = read('STOWAGE_LDAP_BASE')
  if (ldapUrl !== null && (bindDn === null || bindPassword === null || base === null)) {
    throw new SettingsError(
      'STOWAGE_LDAP_BIND_DN, STOWAGE_LDAP_BIND_PASSWORD and STOWAGE_LDAP_BASE must be set together with STOWAGE_LDAP_URL.',
    )
  }
  const [mailFrom, resets] = [read('STOWAGE_SMTP_FROM'), read('STOWAGE_PASSWORD_RESETS')]
  const [clamd, unscanned] = [read('STOWAGE_CLAMD_URL'), read('STOWAGE_CLAMD_UNSCANNED')]
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
        ? {
            issuer,
            clientId,
            clientSecret,
            groupsClaim: read('STOWAGE_OIDC_GROUPS_CLAIM'),
            prompt,
            maxAgeMinutes,
          }
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
        ? {
            smtpUrl,
            publicUrl,
            from: mailFrom ?? `stowage@${new URL(publicUrl).hostname}`,
            sendsResets: resets === 'email',
          }
        : null,
    push: { isEnabled: read('STOWAGE_PUSH') === 'on', contact: contactOf(publicUrl) },
    scanner: clamd && { address: clamd, acceptsUnscanned: unscanned === 'accept' },
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
    versionCount: read('STOWAGE_VERSION_COUNT'),
    versionDays: read('STOWAGE_VERSION_DAYS'),
    catalogueHours: read('STOWAGE_CATALOGUE_HOURS'),
    processes: read('STOWAGE_PROCESSES') ?? Math.min(4, Math.ceil(availableParallelism() / 2)),
    workers: read('STOWAGE_WORKERS'),
    thumbnailBytes: read('STOWAGE_THUMBNAIL_BYTES'),
    searchPath: environment.PATH ?? '',
    sftpAddress: read('STOWAGE_SFTP_ADDRESS'),
    metricsAddress: read('STOWAGE_METRICS_ADDRESS'),
    traceEndpoint: read('OTEL_EXPORTER_OTLP_ENDPOINT'),
    traceRatio: read('OTEL_TRACES_SAMPLER_ARG'),
    stallTimeout: read('STOWAGE_STALL_TIMEOUT'),
    backEndTimeout: read('STOWAGE_BACK_END_TIMEOUT'),
    logLevel: read('LOG_LEVEL'),
  })
}

/** Returns the address that push services of browsers get, which expect one that others reach; null without one. */
function contactOf(publicUrl: string | null): string | null {
  return publicUrl?.startsWith('https:') ? publicUrl : null
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
