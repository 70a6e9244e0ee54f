import { isInterfaceType, isIntrospectionType, isObjectType, parse, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import t, { type Test } from 'tap'
import { schema } from '../../src/endpoints/graphql/schema.ts'
import { metadataHeader, tus, tusPath } from '../http/tus.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { applicationOf } from '../support/applications.ts'
import { password } from '../support/client.ts'
import { openEvents } from '../support/events.ts'
import { lockInfo } from '../webdav/client.ts'

/** Lists the fields and arguments that a document uses. */
function usedIn(document: string): string[] {
  const used: string[] = []
  const info = new TypeInfo(schema)
  const visitor = {
    Field() {
      const [parent, field] = [info.getParentType(), info.getFieldDef()]
      if (!parent || !field) throw new Error('Not a valid document')
      used.push(`${parent}.${field.name}`)
    },
    Argument() {
      used.push(`${info.getParentType()}.${info.getFieldDef()?.name}(${info.getArgument()?.name})`)
    },
  }
  visit(parse(document), visitWithTypeInfo(info, visitor))
  return used
}

function allFields(): string[] {
  return Object.values(schema.getTypeMap())
    .filter(type => isObjectType(type) || isInterfaceType(type))
    .filter(type => !isIntrospectionType(type))
    .flatMap(type =>
      Object.values(type.getFields()).flatMap(field => [
        `${type}.${field.name}`,
        ...field.args.map(arg => `${type}.${field.name}(${arg.name})`),
      ]),
    )
}

const access = 'providerAccess { all restrictions { basePath provider { id } } }'
const group = `{ id name role memberCount ${access} }`
const user = `{ id email name language role effectiveRole isServiceAccount directory directoryName issuedGroupIds deactivatedAt createdAt ${access} groups ${group} }`
const key = `{ id name displayPrefix sshFingerprint scopes ${access} state createdAt expiresAt revokedAt lastUsedAt owner ${user} }`
const provider = `{
  id name slug status statusReason config createdAt quota { used total } jobLimits { filesAtOnce bytesPerSecond } root { path } basePaths
  type { type title configSchema needsAuthorization group builtIn }
  capabilities { serverSideCopy serverSideMove emptyFolders resumableUpload maxFileSize }
}`
const common = 'id path name modifiedAt provider { id }'
const entry = `{ __typename ${common} ... on File { ${common} size mimeType etag checksums { algorithm hex } } ... on Folder { ${common} } }`
const event = `{
  id at action result userId userEmail userName credentialKind credentialId credentialPrefix address requestId
  providerId providerName path toProviderId toProviderName toPath subjectKind subjectId bytes count details
}`
const job = `{
  id kind state sources { providerId path } target { providerId path } targetName conflict deleteExtra dryRun permanent
  createdBy { id } createdAt startedAt endedAt error { reason message }
  progress { files bytes skipped deleted failed totalFiles totalBytes bytesPerSecond }
  failures(first: 1, after: null) { nodes { providerId path reason message } edges { cursor node { path } } pageInfo { hasNextPage } }
  restoreAt restoreSteps(first: 1, after: null) { nodes { providerId path action isFolder size goneAt }
    edges { cursor node { path } } pageInfo { hasNextPage } }
  repair recheckDays copyReport {
    locations { providerId path readFiles readBytes copiedFiles copiedBytes damaged missing changed restored }
    findings(first: 1, after: null) { nodes { kind providerId path isRestored from { path } foundAt reason message }
      edges { cursor node { path } } pageInfo { hasNextPage } } }
}`
const schedule = `{
  id name cron timeZone enabled error { reason message } nextRunAt lastJob { id } lastSkippedAt createdAt
  job { kind sources { providerId path } target { providerId path } targetName conflict deleteExtra dryRun permanent repair recheckDays }
}`
const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'

type Ask = (query: string, variables?: object) => ReturnType<TestApp['ask']>

/** @param userId a VIEWER */
async function tourGroups(t: Test, ask: Ask, userId: string): Promise<void> {
  const { createGroup } = await ask(
    `mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group ${group} } }`,
    { input: { name: 'Writers', role: 'VIEWER' } },
  )
  const { id } = createGroup.group
  const writers = { id, name: 'Editors', role: 'EDITOR', providerAccess: { all: true, restrictions: [] } }
  t.match(
    await ask(`mutation ($input: UpdateGroupInput!) { updateGroup(input: $input) ${group} }`, {
      input: { id, name: 'Editors', role: 'EDITOR' },
    }),
    { updateGroup: { ...writers, memberCount: 0 } },
  )
  const membership = (field: string) =>
    ask(`mutation ($groupId: ID!, $userId: ID!) { ${field}(groupId: $groupId, userId: $userId) ${group} }`, {
      groupId: id,
      userId,
    })
  t.match(await membership('addGroupMember'), { addGroupMember: { ...writers, memberCount: 1 } })
  const list = `query ($after: String) { groups(first: 1, after: $after) { nodes ${group} edges { cursor node { id } } ${pageInfo} } }`
  const { groups } = await ask(list)
  t.match(groups, { nodes: [writers], pageInfo: { hasNextPage: false } })
  t.match(await ask(list, { after: groups.pageInfo.endCursor }), { groups: { nodes: [] } })
  const users = `query ($groupId: ID, $serviceAccounts: Boolean) {
    users(groupId: $groupId, serviceAccounts: $serviceAccounts, owners: null, singleSignOn: null) { nodes ${user} } }`
  t.match(await ask(users, { groupId: id }), {
    users: { nodes: [{ id: userId, role: 'VIEWER', effectiveRole: 'EDITOR', groups: [writers] }] },
  })
  t.match(await membership('removeGroupMember'), { removeGroupMember: { memberCount: 0 } })
  t.match(await ask(`mutation ($id: ID!) { deleteGroup(id: $id) ${group} }`, { id }), { deleteGroup: writers })
  const { createServiceAccount: account } = await ask(
    `mutation ($input: CreateServiceAccountInput!) { createServiceAccount(input: $input) ${user} }`,
    { input: { name: 'Backup', role: 'EDITOR' } },
  )
  t.match(account, { name: 'Backup', isServiceAccount: true })
  t.match(await ask(users, { serviceAccounts: true }), { users: { nodes: [account] } })
  const rename = `mutation ($userId: ID!) { renameServiceAccount(userId: $userId, name: "Backups") ${user} }`
  t.match(await ask(rename, { userId: account.id }), { renameServiceAccount: { id: account.id, name: 'Backups' } })
}

async function tourApplications(t: Test, ask: Ask, app: TestApp): Promise<void> {
  const application = applicationOf(app)
  const clientId = await application.register({ client_name: 'My agent' })
  const { query } = application.request(clientId)
  const consent = await ask(
    `query ($query: String!) {
      consentRequest(query: $query) { name host destination isOnMachine audience scopes refusalUrl } }`,
    { query },
  )
  t.match(consent.consentRequest, { name: 'My agent', host: null, destination: '127.0.0.1', scopes: ['read'] })
  const input = { query, scopes: ['read'], expiresAt: new Date(Date.now() + 60_000) }
  const connection = 'id name application { name clientId audience destination isConnected }'
  const { approveConnection } = await ask(
    `mutation ($input: ApproveConnectionInput!) { approveConnection(input: $input) { returnUrl apiKey { ${connection} } } }`,
    { input },
  )
  t.match(approveConnection.returnUrl, /^http:/)
  const { apiKeys } = await ask(`{ apiKeys(connections: true) { nodes { ${connection} } } }`)
  t.same(apiKeys.nodes, [approveConnection.apiKey])
  await ask('mutation ($id: ID!) { revokeApiKey(id: $id) { state } }', { id: approveConnection.apiKey.id })
}

async function tourIssuers(t: Test, ask: Ask): Promise<void> {
  const issuer =
    'id name issuer clientId groupsClaim domains groups { name } redirectUri prompt maxAgeMinutes enabled isFromSettings isReplaced createdAt'
  const input = { name: 'Work', issuer: 'https://id.example.org', clientId: 'stowage', clientSecret: 'a secret' }
  const { createIssuer } = await ask(
    `mutation ($input: CreateIssuerInput!) { createIssuer(input: $input) { ${issuer} } }`,
    { input },
  )
  const { id } = createIssuer
  const expected = {
    id,
    name: 'Work',
    domains: [],
    groups: [],
    groupsClaim: null,
    prompt: 'DEFAULT',
    maxAgeMinutes: 0,
    enabled: true,
    isFromSettings: false,
    isReplaced: false,
  }
  t.match(createIssuer, expected)
  t.match(
    await ask('mutation ($input: UpdateIssuerInput!) { updateIssuer(input: $input) { enabled } }', {
      input: { id, enabled: false },
    }),
    { updateIssuer: { enabled: false } },
  )
  t.match(await ask('mutation ($input: TestIssuerInput!) { testIssuer(input: $input) }', { input: { id } }), {
    testIssuer: /\/auth\/oidc\/start\?test=/,
  })
  t.match(await ask(`{ issuers { ${issuer} } }`), { issuers: [{ ...expected, enabled: false }] })
  t.same(await ask('mutation ($id: ID!) { deleteIssuer(id: $id) }', { id }), { deleteIssuer: true })
}

t.test('every field of the schema works in typical use', async t => {
  // No job runs, so that its state changes only with the mutations.
  const app = await startApp(t, { settings: { workers: 0 } })
  const used = new Set<string>()
  let token: string | null = null
  const ask = async (query: string, variables = {}, as = token) => {
    for (const name of usedIn(query)) used.add(name)
    return app.ask(query, variables, as)
  }
  const isTime = (text: string | null, what: string) =>
    t.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, `${what} is ISO 8601`)

  t.same(
    await ask(
      '{ installation { hasOwner needsSetupCode registration hasDirectory sendsPasswordResets singleSignOn { id name url } singleSignOnOnly branding { color text logoUrl } language } }',
    ),
    {
      installation: {
        hasOwner: false,
        needsSetupCode: false,
        registration: 'OPEN',
        hasDirectory: false,
        sendsPasswordResets: false,
        singleSignOn: [],
        singleSignOnOnly: false,
        branding: { color: null, text: '', logoUrl: null },
        language: null,
      },
    },
  )
  const registered = await ask(
    `mutation { register(input: { email: "owner@example.org", password: "${password}", name: "Olga" }) { token expiresAt user ${user} } }`,
  )
  const owner = registered.register.user
  t.match(owner, {
    email: 'owner@example.org',
    name: 'Olga',
    role: 'OWNER',
    providerAccess: { all: true, restrictions: [] },
  })
  isTime(registered.register.expiresAt, 'expiresAt')
  isTime(owner.createdAt, 'createdAt')

  const signIn = 'mutation ($input: LoginInput!) { login(input: $input) { token expiresAt user { id } } }'
  const login = await ask(signIn, { input: { email: 'OWNER@example.org', password } })
  token = login.login.token
  t.equal(login.login.user.id, owner.id)
  const changed = await ask(
    'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token user { email } } }',
    { input: { currentPassword: password, newPassword: `${password}!` } },
  )
  token = changed.changePassword.token

  t.match(
    await ask(
      `{ me ${user} viewer { kind needsSecondFactor user { id } workspace { id } scopes ${access} expiresAt apiKey { id } } }`,
    ),
    {
      me: owner,
      viewer: {
        kind: 'SESSION',
        needsSecondFactor: false,
        user: { id: owner.id },
        scopes: ['read', 'write', 'admin'],
        apiKey: null,
      },
    },
  )
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const { updateWorkspace } = await ask(
    `mutation { updateWorkspace(input: { name: "Team", registration: INVITE, secondFactorRoles: [], singleSignOnOnly: false, passwordOwners: null, brandColor: "#2F55D4", brandText: "We share", language: "pt", logo: "${pixel}" }) { id name registration secondFactorRoles passwordOwners approvals scannedUploads hasScanner sendsEmail branding { color text logoUrl } language createdAt } }`,
  )
  t.same(
    await ask(
      '{ workspace { id name registration secondFactorRoles passwordOwners approvals scannedUploads hasScanner sendsEmail branding { color text logoUrl } language createdAt } }',
    ),
    {
      workspace: updateWorkspace,
    },
  )

  t.equal(updateWorkspace.language, 'pt')
  t.match(updateWorkspace.branding, { color: '#2f55d4', text: 'We share' })
  const logo = await fetch(updateWorkspace.branding.logoUrl)
  t.equal(Buffer.from(await logo.arrayBuffer()).toString('base64'), pixel)
  t.match(Object.fromEntries(logo.headers), {
    'content-type': 'image/png',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  for (const [field, value] of [
    ['brandColor', 'red'],
    ['language', 'tlh'],
    ['language', 'DE'],
    ['brandText', 'two\nlines'],
    ['brandText', 'two\u2028lines'],
    ['brandText', 'invoice\u202efdp.exe'],
    ['brandText', '\u2066isolated\u2069'],
    ['logo', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')],
    ['logo', 'no base64!'],
  ] as const) {
    const query = `mutation ($value: String!) { updateWorkspace(input: { ${field}: $value }) { id } }`
    const { errors } = await app.graphql(query, { value }, token)
    t.equal(errors[0]?.extensions.reason, 'INVALID_INPUT', `${field}: ${encodeURIComponent(value)}`)
  }

  const { providerTypes } = await ask('{ providerTypes { type title configSchema needsAuthorization group builtIn } }')
  t.match(
    providerTypes.find(({ type }: { type: string }) => type === 'memory'),
    { builtIn: true, needsAuthorization: false, group: 'THIS_SERVER', configSchema: { type: 'object' } },
  )
  const { serverFolders } = await ask(
    '{ serverFolders(type: "local", path: null) { path parent folders { name path } isComplete } }',
  )
  t.same(serverFolders, {
    path: null,
    parent: null,
    folders: [{ name: app.folder, path: app.folder }],
    isComplete: true,
  })
  const connected = await ask(
    `mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { authorizationUrl provider ${provider} } }`,
    { input: { type: 'memory', name: 'Scratch', config: { maxBytes: 100_000 } } },
  )
  t.equal(connected.connectProvider.authorizationUrl, null)
  t.match(connected.connectProvider.provider, {
    name: 'Scratch',
    status: 'CONNECTED',
    statusReason: null,
    config: { maxBytes: 100_000 },
    quota: { used: 0, total: 100_000 },
    root: { path: '/' },
    basePaths: ['/'],
    type: { type: 'memory' },
    capabilities: { serverSideCopy: false, emptyFolders: true, maxFileSize: null },
  })
  const providerId = connected.connectProvider.provider.id
  const { updateProvider } = await ask(
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { name config } }',
    {
      input: {
        id: providerId,
        name: 'Memory',
        slug: 'memory-1',
        config: { maxBytes: 200_000 },
        jobLimits: { filesAtOnce: 8, bytesPerSecond: 1_000_000 },
      },
    },
  )
  t.same(updateProvider, { name: 'Memory', config: { maxBytes: 200_000 } })
  t.match(await ask(`mutation ($id: ID!) { testProvider(id: $id) ${provider} }`, { id: providerId }), {
    testProvider: { status: 'CONNECTED' },
  })
  for (const name of usedIn('mutation { authorizeProvider(id: "") { authorizationUrl } }')) used.add(name)
  const refused = await app.graphql(
    'mutation ($id: ID!) { authorizeProvider(id: $id) { authorizationUrl } }',
    { id: providerId },
    token,
  )
  t.equal(refused.errors[0]?.extensions.reason, 'INVALID_INPUT', 'this type needs no authorization')
  t.match(await ask(`query ($id: ID!) { providers ${provider} provider(id: $id) ${provider} }`, { id: providerId }), {
    providers: [{ id: providerId }],
    provider: { id: providerId, name: 'Memory' },
  })

  t.equal((await app.upload(token ?? '', providerId, '/team/note.txt', 'hello')).status, 201)
  const change = (name: string, type: string, selection: string, input: object) =>
    ask(`mutation ($input: ${type}!) { ${name}(input: $input) ${selection} }`, { input: { providerId, ...input } })
  t.match(
    await change('createFolder', 'CreateFolderInput', `{ ${common} entries { nodes { id } } }`, {
      path: '/team/empty',
    }),
    { createFolder: { path: '/team/empty', name: 'empty', entries: { nodes: [] }, provider: { id: providerId } } },
  )
  t.match(await change('rename', 'RenameInput', entry, { path: '/team/note.txt', name: 'a.txt' }), {
    rename: { __typename: 'File', path: '/team/a.txt', size: 5, mimeType: 'text/plain', checksums: [] },
  })
  t.match(
    await change('copy', 'CopyInput', entry, { path: '/team/a.txt', toPath: '/team/b.txt', conflict: 'RENAME' }),
    {
      copy: { path: '/team/b.txt' },
    },
  )
  t.match(await change('move', 'MoveInput', entry, { path: '/team/empty', toPath: '/team/moved', conflict: null }), {
    move: { __typename: 'Folder', path: '/team/moved' },
  })
  const listed = await ask(
    `query ($id: ID!, $after: String) {
      folder(providerId: $id, path: "/team") {
        ${common} entries(first: 2, after: $after) { nodes ${entry} edges { cursor node { id } } ${pageInfo} }
      }
    }`,
    { id: providerId },
  )
  const page = listed.folder.entries
  t.same(
    page.nodes.map((node: { path: string }) => node.path),
    ['/team/a.txt', '/team/b.txt'],
  )
  t.match(page.pageInfo, { hasNextPage: true, hasPreviousPage: false, startCursor: page.edges[0].cursor })
  t.equal(page.pageInfo.endCursor, page.edges[1].cursor)
  const found = await ask(
    `query ($id: ID!) {
      entry(providerId: $id, path: "/team/a.txt") ${entry}
      file(providerId: $id, path: "/team/a.txt") { ${common} size mimeType etag checksums { algorithm hex } downloadUrl(expiresIn: 60, inline: true, direct: true) thumbnailUrl(size: 64) }
      folder(providerId: $id) {
        downloadUrl(expiresIn: 60) entries(first: 1) { nodes { path } } usage { files folders bytes isComplete }
      }
      archiveTicket(input: { providerId: $id, paths: ["/team/a.txt", "/team"] })
      provider(id: $id) { catalogue { mode state entries indexedAt isComplete waitingFiles failedFiles } }
      search(input: { text: "team" }, first: 5, after: null) {
        nodes { entry { path } provider { id } snippet } edges { cursor node { entry { name } } }
        coverage { provider { id } isComplete indexedAt isContentComplete } ${pageInfo}
      }
      storageUsage(within: [{ providerId: $id, path: "/" }]) {
        files bytes directFiles directBytes isComplete parts { provider { id } path files bytes }
      }
      rankedFiles(within: [{ providerId: $id, path: "/team" }], rank: OLDEST, first: 5) { file { path } provider { id } }
      duplicates(providerId: $id, first: 5, after: null) {
        nodes { size checksum { algorithm hex } files { file { path } provider { id } } }
        edges { cursor node { size } } ${pageInfo}
      }
    }`,
    { id: providerId },
  )
  t.equal(found.entry.id, found.file.id)
  t.equal(found.file.thumbnailUrl, null, 'a text has no thumbnail')
  // This server fills no catalogue.
  t.match(found.provider.catalogue, { mode: 'NAMES', isComplete: false, indexedAt: null, waitingFiles: null })
  t.same(found.search.nodes, [])
  t.same(found.search.coverage, [
    { provider: { id: providerId }, isComplete: false, indexedAt: null, isContentComplete: false },
  ])
  t.match(found.storageUsage, { files: 0, bytes: 0, directFiles: 0, directBytes: 0, isComplete: false, parts: [] })
  t.same([found.rankedFiles, found.duplicates.nodes], [[], []])
  isTime(found.file.modifiedAt, 'modifiedAt')
  t.equal(found.folder.entries.nodes[0].path, '/team')
  t.match(found.folder.usage, { folders: 2, isComplete: true })
  t.ok(found.folder.usage.bytes > 0)
  const form = new URLSearchParams({ ticket: found.archiveTicket })
  const selection = await fetch(`${app.url}/api/download/archive`, { method: 'POST', body: form })
  t.match([selection.status, selection.headers.get('content-type')], [200, 'application/zip'])
  await selection.arrayBuffer()
  t.ok(found.file.downloadUrl.startsWith(`${app.url}/api/download/proxy?ticket=`), found.file.downloadUrl)
  t.equal(await (await fetch(found.file.downloadUrl)).text(), 'hello', 'the link works without a header')
  const locking = { method: 'LOCK', headers: { depth: '0' }, body: lockInfo(), token }
  t.equal((await app.request('/dav/memory-1/team/a.txt', locking)).status, 200)
  const lock = 'lock { id path isDeep isExclusive holderName holder { id } expiresAt }'
  const locked = await ask(
    `query ($id: ID!) {
      file(providerId: $id, path: "/team/a.txt") { ${lock} }
      folder(providerId: $id, path: "/team") { ${lock} }
    }`,
    { id: providerId },
  )
  t.match([locked.folder.lock, locked.file.lock.path], [null, '/team/a.txt'])
  isTime(locked.file.lock.expiresAt, 'expiresAt')
  t.match(
    await change('endLock', 'EndLockInput', `{ ${lock} }`, { path: '/team/a.txt', lockId: locked.file.lock.id }),
    {
      endLock: { lock: null },
    },
  )
  const hold = 'id providerId path reason until isObjectLock createdAt createdBy { id } releasedAt'
  const { createHold: held } = await change('createHold', 'CreateHoldInput', `{ ${hold} }`, {
    path: '/team/a.txt',
    reason: 'Litigation',
  })
  t.match(held, {
    providerId,
    path: '/team/a.txt',
    until: null,
    isObjectLock: false,
    createdBy: { id: owner.id },
    releasedAt: null,
  })
  isTime(held.createdAt, 'createdAt')
  const holding = await ask(
    `query ($id: ID!) {
      holds(providerId: $id, first: 5, after: null) { nodes { ${hold} } edges { cursor node { id } } ${pageInfo} }
      entry(providerId: $id, path: "/team/a.txt") { hold { id } lock { id } }
      file(providerId: $id, path: "/team/a.txt") { hold { id } }
      folder(providerId: $id, path: "/team") { hold { id } }
    }`,
    { id: providerId },
  )
  t.same(holding.holds.nodes, [held])
  t.match([holding.file.hold, holding.folder.hold], [{ id: held.id }, null])
  const { releaseHold: released } = await ask(`mutation ($id: ID!) { releaseHold(id: $id) { ${hold} } }`, {
    id: held.id,
  })
  isTime(released.releasedAt, 'releasedAt')
  const { addStar, updateTags } = await ask(
    `mutation ($at: LocationInput!, $tags: UpdateTagsInput!) { addStar(input: $at) updateTags(input: $tags) }`,
    {
      at: { providerId, path: '/team/a.txt' },
      tags: { providerId, path: '/team/a.txt', add: ['Urgent', 'Draft'], remove: [] },
    },
  )
  t.same([addStar, updateTags], [true, ['Draft', 'Urgent']])
  const marks = await ask(
    `query ($id: ID!) {
      stars(first: 5, after: null) {
        nodes { entry { path } createdAt } edges { cursor node { entry { path isStarred tags } } } ${pageInfo}
      }
      tags(first: 5, after: null) { nodes { name } edges { cursor node { name count } } ${pageInfo} }
      taggedEntries(tag: "URGENT", first: 5, after: null) { nodes { path } edges { cursor node { path } } ${pageInfo} }
      file(providerId: $id, path: "/team/a.txt") { isStarred tags }
      folder(providerId: $id, path: "/team") { isStarred tags }
    }`,
    { id: providerId },
  )
  isTime(marks.stars.nodes[0].createdAt, 'createdAt')
  t.same(marks.stars.edges[0].node.entry, { path: '/team/a.txt', isStarred: true, tags: ['Draft', 'Urgent'] })
  t.same(
    marks.tags.edges.map(({ node }: { node: unknown }) => node),
    [
      { name: 'Draft', count: 1 },
      { name: 'Urgent', count: 1 },
    ],
  )
  t.same(marks.taggedEntries.nodes, [{ path: '/team/a.txt' }])
  t.same([marks.file.isStarred, marks.folder], [true, { isStarred: false, tags: [] }])
  const comment = 'id author { id name } text mentions { id name } createdAt editedAt'
  const discussedAt = { providerId, path: '/team/a.txt' }
  const { createComment: said } = await change('createComment', 'CreateCommentInput', `{ ${comment} }`, {
    ...discussedAt,
    text: 'Who checks it?',
  })
  t.match(said, { text: 'Who checks it?', mentions: [], editedAt: null })
  const { updateComment: edited } = await change('updateComment', 'UpdateCommentInput', `{ ${comment} }`, {
    ...discussedAt,
    id: said.id,
    text: `@[${said.author.id}] checks it.`,
  })
  isTime(edited.editedAt, 'editedAt')
  t.same(edited.mentions, [said.author])
  const { comments, file: discussed } = await ask(
    `query ($providerId: ID!, $path: String!) {
      comments(providerId: $providerId, path: $path, first: 5, after: null) {
        nodes { ${comment} } edges { cursor node { id } } ${pageInfo}
      }
      file(providerId: $providerId, path: $path) { commentCount }
      entry(providerId: $providerId, path: $path) { commentCount }
      folder(providerId: $providerId, path: "/team") { commentCount }
    }`,
    discussedAt,
  )
  t.same([comments.nodes, discussed.commentCount], [[edited], 1])
  t.same(await change('deleteComment', 'DeleteCommentInput', '', { ...discussedAt, id: said.id }), {
    deleteComment: true,
  })
  const place = '{ providerId providerName path }'
  const activityFields = `id at action userId userName isByShareLink isByJob fileCount location ${place} destination ${place}`
  await app.app.services.audit.flush()
  const { activity } = await ask(
    `query ($within: [LocationInput!]) {
      activity(within: $within, first: 5, after: null) {
        nodes { ${activityFields} } edges { cursor node { id } } ${pageInfo}
      }
    }`,
    { within: [discussedAt] },
  )
  t.match(activity.nodes[0], { action: 'COMMENT_CREATE', location: { path: '/team/a.txt' }, destination: null })
  isTime(activity.nodes[0].at, 'at')
  const { removeStar } = await ask('mutation ($at: LocationInput!) { removeStar(input: $at) }', {
    at: { providerId, path: '/team/a.txt' },
  })
  t.equal(removeStar, false)
  const quota =
    'id providerId path member { id } bytes files usedBytes usedFiles reservedBytes reservedFiles isExact createdAt'
  const { setQuota: limited } = await change('setQuota', 'SetQuotaInput', `{ ${quota} }`, {
    path: '/team',
    userId: null,
    bytes: 1_000_000,
    files: 1000,
  })
  t.match(limited, { providerId, path: '/team', member: null, bytes: 1_000_000, files: 1000, reservedBytes: 0 })
  isTime(limited.createdAt, 'createdAt')
  const limits = await ask(
    `query ($id: ID!) {
      quotas(providerId: $id, first: 5, after: null) { nodes { ${quota} } edges { cursor node { id } } ${pageInfo} }
      provider(id: $id) { quotaRule { id } }
      folder(providerId: $id, path: "/team") { quotaRule { id } }
      viewer { user { quotaRule { id } } }
    }`,
    { id: providerId },
  )
  t.match(limits.quotas.nodes, [{ id: limited.id }])
  t.match(
    [limits.provider.quotaRule, limits.folder.quotaRule, limits.viewer.user.quotaRule],
    [null, { id: limited.id }, null],
  )
  await change('setQuota', 'SetQuotaInput', '{ id }', { path: '/team', bytes: null, files: null })
  const { createUploadTicket: ticket } = await change(
    'createUploadTicket',
    'CreateUploadTicketInput',
    '{ method url path isDirect expiresAt headers { name value } }',
    { path: '/team/ticket.txt' },
  )
  t.match(ticket, { path: '/team/ticket.txt', isDirect: false, expiresAt: null, headers: [] })
  const sent = await fetch(ticket.url, {
    method: ticket.method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: 'ticket',
  })
  t.equal(sent.status, 201, 'the ticket describes a working request')
  const archive = await fetch(found.folder.downloadUrl)
  t.match([archive.status, archive.headers.get('content-type')], [200, 'application/zip'])
  await archive.arrayBuffer()
  t.same(await change('delete', 'DeleteInput', '{ deletedPath }', { path: '/team', recursive: true }), {
    delete: { deletedPath: '/team' },
  })

  const days =
    'mutation ($id: ID!) { updateProvider(input: { id: $id, trashDays: 7 }) { trashDays trash { days isOneStep isNative } } }'
  t.same(await ask(days, { id: providerId }), {
    updateProvider: { trashDays: 7, trash: { days: 7, isOneStep: false, isNative: false } },
  })
  t.equal((await app.upload(token ?? '', providerId, '/team/note.txt', 'deleted')).status, 201)
  const trashed = `{ id kind name originalPath size deletedAt deletedBy ${user} expiresAt }`
  const deleted = await change('delete', 'DeleteInput', `{ deletedPath trashItem ${trashed} }`, {
    path: '/team/note.txt',
  })
  const item = deleted.delete.trashItem
  t.match(item, {
    kind: 'FILE',
    name: 'note.txt',
    originalPath: '/team/note.txt',
    size: 7,
    deletedBy: { id: owner.id },
  })
  isTime(item.deletedAt, 'deletedAt')
  isTime(item.expiresAt, 'expiresAt')
  const trash = `query ($id: ID!, $jobId: ID, $after: String) {
    trash(providerId: $id, jobId: $jobId, first: 1, after: $after) { nodes ${trashed} edges { cursor node { id } } ${pageInfo} }
  }`
  t.match(await ask(trash, { id: providerId }), { trash: { nodes: [item], pageInfo: { hasNextPage: false } } })
  t.match(
    await ask(`mutation ($input: RestoreInput!) { restore(input: $input) ${entry} }`, { input: { id: item.id } }),
    { restore: { path: '/team/note.txt', size: 7 } },
  )
  t.same(await ask('mutation ($id: ID!) { emptyTrash(providerId: $id) }', { id: providerId }), { emptyTrash: true })

  const connecting = `mutation ($input: ConnectProviderInput!) {
    connectProvider(input: $input) { provider { id encryption { names encoding encryptFolderNames suffix } } }
  }`
  const vault = { type: 'memory', name: 'Vault', config: {}, encryption: { password: 'secret', encoding: 'BASE64' } }
  const { provider: encrypted } = (await ask(connecting, { input: vault })).connectProvider
  t.same(encrypted.encryption, { names: 'STANDARD', encoding: 'BASE64', encryptFolderNames: true, suffix: '.bin' })
  await ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: encrypted.id })

  const versions =
    'mutation ($id: ID!) { updateProvider(input: { id: $id, versionCount: 5, versionDays: 9 }) { versionCount versionDays versions { count days isOneStep isNative } } }'
  t.same(await ask(versions, { id: providerId }), {
    updateProvider: {
      versionCount: 5,
      versionDays: 9,
      versions: { count: 5, days: 9, isOneStep: false, isNative: false },
    },
  })
  t.equal((await app.upload(token ?? '', providerId, '/team/note.txt', 'changed', '&conflict=replace')).status, 201)
  const version = `{ id isCurrent size mimeType modifiedAt replacedAt replacedBy ${user} expiresAt downloadUrl(expiresIn: 60, inline: true) }`
  const ofFile = await ask(
    `query ($id: ID!) {
      file(providerId: $id, path: "/team/note.txt") { versions(first: 2, after: null) { nodes ${version} } }
      versions(providerId: $id, path: "/team/note.txt", first: 1, after: null) {
        nodes ${version} edges { cursor node { id } } ${pageInfo} }
    }`,
    { id: providerId },
  )
  const [current, previous] = ofFile.file.versions.nodes
  t.match(
    [current, previous],
    [
      { isCurrent: true, replacedAt: null },
      { isCurrent: false, size: 7, mimeType: 'text/plain', replacedBy: { id: owner.id } },
    ],
  )
  t.match(ofFile.versions.nodes, [{ id: previous.id, size: 7 }])
  t.equal(await (await fetch(previous.downloadUrl)).text(), 'deleted')
  const restored = `mutation ($input: RestoreVersionInput!) { restoreVersion(input: $input) ${entry} }`
  t.match(await ask(restored, { input: { id: previous.id, conflict: 'REPLACE' } }), {
    restoreVersion: { path: '/team/note.txt' },
  })
  const { versions: left } = await ask(
    'query ($id: ID!) { versions(providerId: $id, path: "/team/note.txt") { nodes { id } } }',
    { id: providerId },
  )
  t.same(await ask('mutation ($id: ID!) { deleteVersion(id: $id) }', left.nodes[0]), { deleteVersion: true })

  const restrictions = { restrictions: [{ providerId, basePath: '/backups' }] }
  const created = await ask(
    `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey ${key} s3 { accessKeyId secretAccessKey endpoint region } } }`,
    {
      input: {
        name: 'Backup',
        scopes: ['write'],
        providerAccess: restrictions,
        expiresAt: '2999-01-01T00:00:00+01:00',
        publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0EFOSJn3jJSSqhrFTHKTyDcDYCvyxDhhEVrJQ+WbaC me@laptop',
      },
    },
  )
  const made = created.createApiKey.apiKey
  t.match(created.createApiKey.key, /^stw_[0-9a-f]{40}$/)
  t.match(created.createApiKey.s3, {
    accessKeyId: /^STW[0-9A-F]{32}$/,
    secretAccessKey: /^stw_s3_[0-9a-f]{40}$/,
    endpoint: /\/s3$/,
    region: 'us-east-1',
  })
  t.match(made, {
    displayPrefix: created.createApiKey.key.slice(0, 12),
    sshFingerprint: 'SHA256:DfSvnHXRxxRyFAmFsNjEB7ljE3M6qv1CAfLhc9SAIn4',
    scopes: ['write'],
    state: 'active',
    expiresAt: '2998-12-31T23:00:00.000Z',
    revokedAt: null,
    lastUsedAt: null,
    owner: { id: owner.id },
    providerAccess: { all: false, restrictions: [{ basePath: '/backups', provider: { id: providerId } }] },
  })
  const asKey = await ask(`{ viewer { kind scopes ${access} expiresAt apiKey ${key} } }`, {}, created.createApiKey.key)
  t.match(asKey.viewer, {
    kind: 'API_KEY',
    scopes: ['read', 'write'],
    apiKey: { id: made.id },
    providerAccess: made.providerAccess,
  })
  await ask('mutation ($id: ID!) { renameApiKey(id: $id, name: "Nightly") { name } }', { id: made.id })
  t.match(await ask(`query ($id: ID!) { apiKey(id: $id) ${key} }`, { id: made.id }), { apiKey: { name: 'Nightly' } })
  const { revokeApiKey } = await ask('mutation ($id: ID!) { revokeApiKey(id: $id) { state revokedAt } }', {
    id: made.id,
  })
  t.equal(revokeApiKey.state, 'revoked')
  isTime(revokeApiKey.revokedAt, 'revokedAt')

  const { createInvite } = await ask(
    'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite expiresAt } }',
    { input: { role: 'EDITOR', providerAccess: { all: false, restrictions: [{ providerId }] }, note: 'Nina' } },
  )
  isTime(createInvite.expiresAt, 'expiresAt')
  await ask('mutation { createInvite(input: { role: VIEWER }) { expiresAt } }')
  const { invites } = await ask(`{ invites { id role ${access} createdAt expiresAt note createdBy { id email } } }`)
  t.match(invites, [
    { role: 'VIEWER', providerAccess: { all: true }, note: null, createdBy: { id: owner.id } },
    {
      role: 'EDITOR',
      note: 'Nina',
      providerAccess: { all: false, restrictions: [{ basePath: '/', provider: { id: providerId } }] },
    },
  ])
  isTime(invites[0].createdAt, 'createdAt')
  t.equal(invites[1].expiresAt, createInvite.expiresAt)
  t.same(await ask('mutation ($id: ID!) { revokeInvite(id: $id) }', { id: invites[0].id }), { revokeInvite: true })
  t.match(await ask('{ invites { id } }'), { invites: [{ id: invites[1].id }] })
  const joined = await ask(
    `mutation ($input: RegisterInput!) { register(input: $input) { token user ${user} } }`,
    { input: { email: 'new@example.org', password, invite: createInvite.invite } },
    null,
  )
  t.match(
    joined.register.user,
    { role: 'EDITOR', providerAccess: { all: false, restrictions: [{ basePath: '/', provider: { id: providerId } }] } },
    'register returns the access of the new member',
  )
  const userId = joined.register.user.id
  const { updateMember } = await ask(`mutation ($input: UpdateMemberInput!) { updateMember(input: $input) ${user} }`, {
    input: { userId, role: 'VIEWER' },
  })
  t.equal(updateMember.role, 'VIEWER')
  const view = `mutation ($id: ID!) { viewMember(userId: $id) {
    user { id } scopes providerAccess { all restrictions { basePath provider { id } } } } }`
  t.match((await ask(view, { id: userId })).viewMember, {
    user: { id: userId },
    scopes: ['read'],
    providerAccess: { all: false, restrictions: [{ basePath: '/', provider: { id: providerId } }] },
  })
  const users = `query ($after: String) { users(first: 1, after: $after) { nodes ${user} edges { cursor node { id } } ${pageInfo} } }`
  const first = (await ask(users)).users
  t.match(first, { nodes: [owner], pageInfo: { hasNextPage: true, hasPreviousPage: false } })
  const second = (await ask(users, { after: first.pageInfo.endCursor })).users
  t.match(second, { nodes: [{ id: userId }], pageInfo: { hasNextPage: false, hasPreviousPage: true } })
  t.match(
    await ask(`query ($id: ID!) { apiKeys(ofUser: $id, includeInactive: false) { nodes ${key} } }`, { id: userId }),
    {
      apiKeys: { nodes: [] },
    },
  )
  const keys = `query ($after: String) { apiKeys(first: 1, after: $after) { nodes { id state } edges { cursor node { id } } ${pageInfo} } }`
  const { apiKeys } = await ask(keys)
  t.match(apiKeys, { nodes: [{ id: made.id, state: 'revoked' }], pageInfo: { hasNextPage: false } })
  t.match(await ask(keys, { after: apiKeys.edges[0].cursor }), { apiKeys: { nodes: [] } })
  await tourGroups(t, ask, userId)
  await tourApplications(t, ask, app)
  await tourIssuers(t, ask)
  const { createPasswordReset: reset } = await ask(
    'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token expiresAt } }',
    { userId },
  )
  isTime(reset.expiresAt, 'expiresAt')
  const linkInvites = 'mutation ($userId: ID!) { createLinkInvite(userId: $userId) { invite expiresAt } }'
  const { createLinkInvite: linking } = await ask(linkInvites, { userId })
  isTime(linking.expiresAt, 'expiresAt')
  const invitation = 'query ($invite: String!) { linkInvite(invite: $invite) { email name expiresAt } }'
  t.match(await ask(invitation, { invite: linking.invite }, null), { linkInvite: { expiresAt: linking.expiresAt } })
  const resetInput = { token: reset.token, newPassword: `${password}?` }
  const resetPassword = 'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }'
  t.same(await ask(resetPassword, { input: resetInput }, null), { resetPassword: true })
  const [deactivate, reactivate] = ['deactivateMember', 'reactivateMember'].map(
    field => `mutation ($userId: ID!) { member: ${field}(userId: $userId) { id deactivatedAt } }`,
  )
  isTime((await ask(deactivate ?? '', { userId })).member.deactivatedAt, 'deactivatedAt')
  t.match((await ask(reactivate ?? '', { userId })).member, { id: userId, deactivatedAt: null })
  t.same(await ask('mutation ($userId: ID!) { removeMember(userId: $userId) }', { userId }), { removeMember: true })

  const at = (path: string) => ({ providerId, path })
  const jobInput = { kind: 'COPY', sources: [at('/missing')], target: at('/'), dryRun: true }
  const { createJob } = await ask(`mutation ($input: CreateJobInput!) { createJob(input: $input) { job ${job} } }`, {
    input: jobInput,
  })
  const jobId = { id: createJob.job.id }
  t.match(await ask(`query ($id: ID!) { job(id: $id) ${job} }`, jobId), { job: { state: 'QUEUED', kind: 'COPY' } })
  const subscription = `subscription ($id: ID) { jobChanged(id: $id) ${job} }`
  for (const name of usedIn(subscription)) used.add(name)
  const stream = await openEvents(app.url, token, subscription, jobId)
  t.match(await stream.first(() => true), { data: { jobChanged: { ...jobId, state: 'QUEUED' } } })
  stream.close()
  const following = `subscription ($providerId: ID!, $path: String!, $others: [LocationInput!]) {
    entryChanged(providerId: $providerId, path: $path, others: $others) { kind origin providerId path at } }`
  for (const name of usedIn(following)) used.add(name)
  const followed = await openEvents(app.url, token, following, { ...at('/'), others: [at('/reports')] })
  t.match(await followed.first(() => true), { data: { entryChanged: { kind: 'TREE_CHANGED', ...at('/') } } })
  followed.close()
  const jobs = `{ jobs(first: 1, after: null, state: QUEUED) { nodes { id } edges { cursor node { id } } ${pageInfo} } }`
  t.match(await ask(jobs), { jobs: { nodes: [jobId] } })
  const changes = `mutation ($id: ID!) { pauseJob(id: $id) { state } resumeJob(id: $id) { state }
    cancelJob(id: $id) { state } retryJob(id: $id) { state } }`
  t.same(await ask(changes, jobId), {
    pauseJob: { state: 'PAUSED' },
    resumeJob: { state: 'QUEUED' },
    cancelJob: { state: 'CANCELED' },
    retryJob: { state: 'QUEUED' },
  })

  const { createSchedule } = await ask(
    `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule ${schedule} } }`,
    { input: { name: 'Nightly', cron: '30 2 * * *', timeZone: 'Europe/Berlin', job: jobInput } },
  )
  const scheduleId = { id: createSchedule.schedule.id }
  t.match(createSchedule.schedule, { enabled: true, error: null, lastJob: null, job: { kind: 'COPY' } })
  isTime(createSchedule.schedule.nextRunAt, 'nextRunAt')
  const schedules = `{ schedules(first: 1, after: null) { nodes { id } edges { cursor node { id } } ${pageInfo} } }`
  t.match(await ask(schedules), { schedules: { nodes: [scheduleId] } })
  const disabled = await ask(
    'mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { name enabled nextRunAt } }',
    { input: { ...scheduleId, name: 'Paused', enabled: false } },
  )
  t.same(disabled, { updateSchedule: { name: 'Paused', enabled: false, nextRunAt: null } })
  const run = await ask('mutation ($id: ID!) { runSchedule(id: $id) { kind state } }', scheduleId)
  t.same(run, { runSchedule: { kind: 'COPY', state: 'QUEUED' } })
  t.same(await ask('mutation ($id: ID!) { deleteSchedule(id: $id) }', scheduleId), { deleteSchedule: true })

  const hook = '{ id name url events location { providerId path } enabled error createdBy { id } createdAt }'
  const { createWebhook } = await ask(
    `mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook ${hook} secret } }`,
    { input: { name: 'Index', url: 'http://127.0.0.1:1/', events: ['FILE_UPLOADED'], location: at('/') } },
  )
  t.match(createWebhook, { secret: /^whsec_/, webhook: { enabled: true, error: null, location: at('/') } })
  const webhookId = { id: createWebhook.webhook.id }
  t.match(await ask(`{ webhooks ${hook} }`), { webhooks: [webhookId] })
  const delivery = 'id type state attempts status error nextAttemptAt occurredAt endedAt'
  const test = await ask(`mutation ($id: ID!) { testWebhook(id: $id) { ${delivery} } }`, webhookId)
  t.match(test, { testWebhook: { type: 'webhook.test', state: 'PENDING' } })
  const deliveries = `query ($id: ID!) { webhook(id: $id) {
    deliveries(first: 1, after: null, state: PENDING) { nodes { id } edges { cursor node { id } } ${pageInfo} } } }`
  t.match(await ask(deliveries, webhookId), { webhook: { deliveries: { nodes: [{ id: test.testWebhook.id }] } } })
  const replay = 'mutation ($input: ReplayDeliveriesInput!) { replayDeliveries(input: $input) }'
  t.same(await ask(replay, { input: { webhookId: webhookId.id, deliveryIds: null } }), { replayDeliveries: 0 })
  t.match(await ask('mutation ($id: ID!) { rotateWebhookSecret(id: $id) { webhook { id } secret } }', webhookId), {
    rotateWebhookSecret: { webhook: webhookId, secret: /^whsec_/ },
  })
  const renamed = 'mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { name enabled } }'
  const webhookChanges = { ...webhookId, name: 'Paused', url: null, events: null, enabled: false }
  t.same(await ask(renamed, { input: webhookChanges }), { updateWebhook: { name: 'Paused', enabled: false } })
  t.same(await ask('mutation ($id: ID!) { deleteWebhook(id: $id) }', webhookId), { deleteWebhook: true })

  const share = `{ id kind providerId paths url hasPassword note expiresAt maxDownloads downloads maxBytes receivedBytes
    fileTypes notify state recipients { id kind name email } createdBy { id } createdAt revokedAt lastUsedAt }`
  const { createShare } = await ask(
    `mutation ($input: CreateShareInput!) { createShare(input: $input) { url share ${share} } }`,
    { input: { ...at('/'), kind: 'VIEW', note: 'For you' } },
  )
  t.match(createShare, { share: { kind: 'VIEW', note: 'For you', state: 'ACTIVE', url: createShare.url } })
  const shareId = { id: createShare.share.id }
  const shares = `query ($providerId: ID, $path: String) {
    shares(first: 1, after: null, ofUser: null, includeInactive: false, providerId: $providerId, path: $path) {
      nodes { id } edges { cursor node { id } } ${pageInfo} } }`
  t.match(await ask(shares, at('/')), { shares: { nodes: [shareId] } })
  const { shareRecipients, sharesWithMe } = await ask(
    `{ shareRecipients(search: "nobody") { id kind name email } sharesWithMe(first: 1, after: null) {
      nodes { id url name isFolder sharedBy note hasPassword expiresAt createdAt } edges { cursor node { id } } ${pageInfo} } }`,
  )
  t.same([shareRecipients, sharesWithMe.nodes], [[], []])
  const renoted = 'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { note maxDownloads } }'
  t.same(await ask(renoted, { input: { ...shareId, note: null, maxDownloads: 5 } }), {
    updateShare: { note: '', maxDownloads: 5 },
  })
  t.match(await ask('mutation ($id: ID!) { revokeShare(id: $id) { state revokedAt } }', shareId), {
    revokeShare: { state: 'REVOKED' },
  })

  const metadata = metadataHeader({ providerId, path: '/team/large.bin', conflict: 'fail' })
  const begun = await tus({ url: app.url, token: token ?? '' }, 'POST', tusPath, {
    'upload-length': '9',
    'upload-metadata': metadata,
  })
  const uploadId = begun.headers.get('location')?.split('/').at(-1)
  const takeOver = 'mutation ($input: TakeOverUploadInput!) { takeOverUpload(input: $input) { path } }'
  t.same(await ask(takeOver, { input: { ...at('/team/large.bin'), uploadId } }), {
    takeOverUpload: { path: '/team/large.bin' },
  })

  t.same(await ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: providerId }), {
    disconnectProvider: true,
  })

  const events = `query ($after: String, $filter: AuditEventFilter) {
    auditEvents(first: 1, after: $after, filter: $filter) { nodes ${event} edges { cursor node { id } } ${pageInfo} }
  }`
  const filter = { action: 'MEMBER_REMOVE' }
  const removal = (await ask(events, { filter })).auditEvents
  t.match(removal, {
    nodes: [{ result: 'OK', userId: owner.id, userEmail: owner.email, subjectKind: 'MEMBER', subjectId: userId }],
    pageInfo: { hasNextPage: false },
  })
  isTime(removal.nodes[0].at, 'at')
  t.same((await ask(events, { filter, after: removal.edges[0].cursor })).auditEvents.nodes, [])

  // The server has no LDAP directory: see test/services/ldap.test.ts.
  t.same(await ask('{ ldapDirectory { source readAt people error } }'), { ldapDirectory: null })
  const scimToken = '{ id name displayPrefix directory { id name issuer createdAt } createdAt lastUsedAt }'
  const createScim = `mutation ($input: CreateScimTokenInput!) { createScimToken(input: $input) { token url scimToken ${scimToken} } }`
  const { createScimToken: scim } = await ask(createScim, { input: { name: 'Entra' } })
  t.match(scim, { token: /^stw_scim_/, url: `${app.url}/scim/v2`, scimToken: { name: 'Entra', lastUsedAt: null } })
  t.match(await ask(`{ scimTokens ${scimToken} scimDirectories { id name issuer createdAt } }`), {
    scimTokens: [{ id: scim.scimToken.id }],
    scimDirectories: [{ id: scim.scimToken.directory.id, name: 'Entra', issuer: null }],
  })
  t.same(await ask('mutation ($id: ID!) { revokeScimToken(id: $id) }', { id: scim.scimToken.id }), {
    revokeScimToken: true,
  })

  const { overview, usageHistory } = await ask(
    `{
      overview {
        people { roles { role members } activeIn7Days activeIn30Days withoutSecondFactor invites serviceAccounts deactivated }
        storages { provider { id } files bytes addedBytes }
        failures { kind count latestAt }
        server {
          version postgresVersion migration databaseBytes hasMixedVersions
          processes { id host version nodeVersion startedAt seenAt isAlive }
        }
      }
      usageHistory(days: 7, providerId: null) { day files bytes }
    }`,
  )
  // The storages are disconnected by now: see test/services/overview.test.ts.
  t.match(overview, { storages: [], server: { version: /^\d/, hasMixedVersions: false } })
  t.same(usageHistory, [])

  // They need an issuer: see test/http/single-sign-on.test.ts.
  t.same(await ask('{ issuerLogout { name url } }'), { issuerLogout: null })
  t.same(await ask('{ identities { id issuer email createdAt lastUsedAt } }'), { identities: [] })
  for (const document of [
    '{ identityLinkUrl(issuer: null) }',
    '{ invitedLinkUrl(invite: "", issuer: null) }',
    'mutation { linkInvitedIdentity(invite: "", ticket: "") }',
    'mutation { linkIdentity(ticket: "") { id issuer email createdAt lastUsedAt } }',
    'mutation { unlinkIdentity(id: "") }',
    '{ memberIdentities(userId: "") { id } }',
    'mutation { removeMemberIdentity(userId: "", id: "") }',
  ]) {
    for (const name of usedIn(document)) used.add(name)
    t.match(
      (await app.graphql(document, {}, token)).errors[0]?.extensions.reason,
      /NOT_FOUND|INVALID_STATE|INVALID_INVITE/,
    )
  }

  // They need an authenticator: see test/services/passkeys.test.ts and test/services/second-factors.test.ts.
  const passkeyFields = '{ id name isSynced createdAt lastUsedAt }'
  const added = `{ passkey ${passkeyFields} recoveryCodes }`
  const factors = `{ secondFactors { passkeys ${passkeyFields} totpAddedAt recoveryCodesLeft } totpSetup { secret uri ticket } }`
  t.match(await ask(factors), { secondFactors: { passkeys: [], totpAddedAt: null, recoveryCodesLeft: 0 } })
  const questions = '{ passkeySetup passkeySignIn confirmation { confirmedUntil methods issuers passkeyOptions } }'
  t.match(await ask(questions), { confirmation: { methods: ['PASSWORD'], issuers: [], passkeyOptions: null } })
  t.same(
    await ask('mutation ($input: ConfirmIdentityInput!) { confirmIdentity(input: $input) }', {
      input: { password: `${password}!` },
    }),
    { confirmIdentity: true },
  )
  for (const document of [
    `mutation { addTotp(input: { ticket: "", code: "" }) ${added} }`,
    `mutation { addPasskey(input: { name: "a", passkey: {} }) ${added} }`,
    `mutation { renamePasskey(id: "", name: "a") ${passkeyFields} }`,
    'mutation { removePasskey(id: "") }',
    'mutation { removeTotp }',
    'mutation { createRecoveryCodes }',
    'mutation { requestPasswordReset(email: "") }',
    'mutation { removeSecondFactors(userId: "") { id } }',
    'mutation { completeLogin(input: { challenge: "", code: "" }) { token expiresAt user { id } } }',
    'mutation { signInWithPasskey(passkey: {}) { token expiresAt user { id } } }',
  ]) {
    for (const name of usedIn(document)) used.add(name)
    t.match(
      (await app.graphql(document, {}, token)).errors[0]?.extensions.reason,
      /NOT_FOUND|INVALID_STATE|INVALID_INPUT/,
    )
  }

  // They need an agent: see test/mcp/approvals.test.ts.
  const approval = `{
    id kind tool state credentialName owner { id } providerId path entryKind size from newLength isPermanent createdAt expiresAt }`
  t.same(await ask(`{ approvals ${approval} }`), { approvals: [] })
  for (const name of usedIn('subscription { approvalsChanged { id } }')) used.add(name)
  const waits = await openEvents(app.url, token, 'subscription { approvalsChanged { id } }')
  t.same(await waits.first(({ data }) => data !== undefined), { data: { approvalsChanged: [] } })
  waits.close()
  const decision = 'mutation { decideApproval(id: "", isApproved: true) { state } }'
  for (const name of usedIn(decision)) used.add(name)
  t.equal((await app.graphql(decision, {}, token)).errors[0]?.extensions.reason, 'NOT_FOUND')

  t.match(await ask('{ pushPublicKey pushSubscriptions { id events userAgent current createdAt lastUsedAt } }'), {
    pushPublicKey: /^[\w-]{87}$/,
    pushSubscriptions: [],
  })
  const push = [
    [
      'createPushSubscription',
      'CreatePushSubscriptionInput',
      { endpoint: 'http:', publicKey: '', auth: '', events: [], language: '' },
    ],
    ['updatePushSubscription', 'UpdatePushSubscriptionInput', { id: '', events: ['JOB_ENDED'] }],
  ] as const
  for (const [field, type, input] of push) {
    const document = `mutation ($input: ${type}!) { ${field}(input: $input) { id } }`
    for (const name of usedIn(document)) used.add(name)
    t.match((await app.graphql(document, { input }, token)).errors, [
      { extensions: { code: /BAD_USER_INPUT|NOT_FOUND/ } },
    ])
  }
  for (const field of ['deletePushSubscription', 'testPushSubscription']) {
    const document = `mutation { ${field}(id: "") }`
    for (const name of usedIn(document)) used.add(name)
    t.equal((await app.graphql(document, {}, token)).errors[0]?.extensions.reason, 'NOT_FOUND')
  }

  const { token: elsewhere } = (await ask(signIn, { input: { email: owner.email, password: `${password}!` } })).login
  const { sessions } = await ask('{ sessions { id createdAt expiresAt address userAgent factors current } }')
  t.match(sessions[0], { address: '127.0.0.1', userAgent: 'node' })
  const updateProfile =
    'mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { name language getsMentions } }'
  t.same(await ask(updateProfile, { input: { name: 'Olga P.', language: 'pt', getsMentions: true } }), {
    updateProfile: { name: 'Olga P.', language: 'pt', getsMentions: true },
  })
  t.same(
    sessions.map((session: { current: boolean }) => session.current),
    [false, true],
  )
  isTime(sessions[0].createdAt, 'createdAt')
  isTime(sessions[0].expiresAt, 'expiresAt')
  t.same(await ask('mutation ($id: ID!) { revokeSession(id: $id) }', { id: sessions[0].id }), { revokeSession: true })
  t.equal((await app.graphql('{ me { id } }', {}, elsewhere)).status, 401, 'the other session has ended')
  t.same(await ask('mutation { logout }'), { logout: true })
  t.equal((await app.graphql('{ me { id } }', {}, token)).status, 401, 'the session has ended')

  t.same(
    allFields().filter(name => !used.has(name)),
    [],
    'every field and argument was used',
  )
})
