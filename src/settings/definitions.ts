import { resolve } from 'node:path'
import {
  clamdServer,
  emailAddress,
  folders,
  hostAndPort,
  hostName,
  httpUrl,
  issuerQuestion,
  issuerUrl,
  ldapFilter,
  ldapServer,
  loginFilter,
  logLevel,
  networks,
  onOrOff,
  origins,
  packages,
  passwordResets,
  postgresUrl,
  secret,
  sendfile,
  setupCode,
  share,
  smtpServer,
  unscanned,
  wholeNumber,
} from './values.ts'

export interface Definition<T, Default extends string | null> {
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
  STOWAGE_OIDC_PROMPT: define(
    'What the issuer asks of people who are already signed in there: `default` (it decides), `login`, `select_account` or `consent`',
    issuerQuestion,
    'default',
  ),
  STOWAGE_OIDC_MAX_AGE_MINUTES: define(
    'Minutes after which the issuer has to ask again who somebody is; `0` for no limit',
    // A year.
    wholeNumber(0, 525_600),
    '0',
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
    'The server that sends email about [shares](shares.md#email), [forgotten passwords](access-and-keys.md#forgotten-passwords), [changes of accounts](sign-in-security.md#lost-devices) and [mentions](comments.md#mentions): `smtp://name:password@mail.example.com:587` with STARTTLS, or `smtps://` with TLS; requires `STOWAGE_PUBLIC_URL`',
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
  STOWAGE_PASSWORD_RESETS: define(
    'Where people who [forgot their password](access-and-keys.md#forgotten-passwords) get a link for a new one: by `email` if the server sends any, or only from `administrators`',
    passwordResets,
    'email',
  ),
  STOWAGE_PUSH: define(
    'Whether people can switch on [notifications](notifications.md) in their browsers, which the server sends through the push services of the browsers: `on` or `off`',
    onOrOff,
    'on',
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
  STOWAGE_CLAMD_URL: define(
    'The clamd of ClamAV that [scans uploads](keeping-files.md#scans-for-malware) before they become visible: `tcp://clamav:3310` or `unix:/run/clamav/clamd.ctl`',
    clamdServer,
    null,
    'none: nothing is scanned',
  ),
  STOWAGE_CLAMD_UNSCANNED: define(
    'Whether uploads that clamd cannot scan are stored, because it does not respond or they are longer than its StreamMaxLength: `refuse` or `accept`',
    unscanned,
    'refuse',
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
  STOWAGE_VERSION_COUNT: define(
    '[Earlier versions](keeping-files.md#versions) of each file that a storage keeps, if it sets no other number and keeps them without copying; `0` keeps none',
    wholeNumber(0, 1000),
    '20',
  ),
  STOWAGE_VERSION_DAYS: define(
    'Days that earlier versions are kept in a storage that sets no other number',
    wholeNumber(1, 3650),
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
    'Maximum size of the cache of [thumbnails and renditions](thumbnails.md) in `<data>/thumbnails`, in bytes; `0` switches both off',
    wholeNumber(0, Number.MAX_SAFE_INTEGER),
    '1073741824',
  ),
  STOWAGE_SFTP_ADDRESS: define(
    'Address and port, such as `0.0.0.0:2022`, of the [SFTP server](sftp.md)',
    hostAndPort,
    null,
    'none',
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

export type SettingName = keyof typeof definitions
export type Value<N extends SettingName> =
  | ReturnType<(typeof definitions)[N]['parse']>
  | ((typeof definitions)[N]['default'] extends null ? null : never)

function define<T, Default extends string | null>(
  description: string,
  parse: (text: string) => T,
  defaultText: Default,
  otherwise?: string,
): Definition<T, Default> {
  return { description, parse, default: defaultText, ...(otherwise === undefined ? {} : { otherwise }) }
}
