/** Implements `stowage apply`: changes the workspace to match a file, and reports other differences. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { roles } from '../../auth/scopes.ts'
import type { Database } from '../../db/client.ts'
import { listMembers } from '../../db/members.ts'
import { openDatabase } from '../../db/migrate.ts'
import { uploadSources } from '../../db/schema.ts'
import { findTheWorkspace } from '../../db/workspaces.ts'
import { StartError } from '../../errors.ts'
import { createLog } from '../../log/logger.ts'
import type { Services } from '../../services/index.ts'
import type { Settings } from '../../settings/index.ts'
import { makeDataFolder, readSecrets, requireSeparateRoots } from '../data-folder.ts'
import { connectionTo, withServices } from '../offline-app.ts'
import { type ApplyContext, change, create, type Step } from './context.ts'
import { planCopies } from './copies.ts'
import { type Declaration, readDeclaration, readSecretOf } from './declaration.ts'
import { planGroups, planServiceAccounts } from './groups.ts'
import { planIssuers } from './issuers.ts'
import { planKeys, planMembers } from './people.ts'
import { planProviders } from './providers.ts'
import { planQuotas } from './quotas.ts'
import { planWebhooks } from './webhooks.ts'

/** The maximum number of members that are compared. */
const maxMembers = 10_000
/** The origin of the changes in the audit log. */
const origin = { address: '', requestId: 'apply' }

/**
 * Compares the workspace with the file and, unless `planOnly`, makes the changes one after the other.
 * @param options.onPlan called before the first change
 * @param options.onDone called after each change
 * @throws StartError, AppError at the first change that fails
 */
export async function apply(
  settings: Settings,
  file: string,
  options: { planOnly: boolean; onPlan(steps: Step[]): void; onDone(step: Step): void },
): Promise<Step[]> {
  const declaration = await readDeclaration(file)
  await makeDataFolder(settings)
  await requireSeparateRoots(settings)
  await using cleanup = new AsyncDisposableStack()
  const log = createLog('silent')
  const migrate = async (connection: Parameters<typeof openDatabase>[0]) =>
    (await openDatabase(connection, log)).destroy()
  const db = await openDatabase(await connectionTo(settings, cleanup, { migrate }), log)
  cleanup.defer(() => db.destroy())
  const { secret, previous } = await readSecrets(settings)
  // Without "await", the database would be closed before the work.
  return await withServices({ db, settings, secret, previousSecret: previous }, async services => {
    const founding = await planFounding(db, services, settings, declaration)
    if (founding && options.planOnly) {
      options.onPlan([founding])
      return [founding]
    }
    await founding?.run?.()
    const steps = await plan(await contextOf(db, services, declaration))
    options.onPlan([...(founding ? [founding] : []), ...steps])
    if (options.planOnly) return steps
    if (founding) options.onDone(founding)
    for (const step of steps) {
      if (!step.run) continue
      await step.run()
      options.onDone(step)
    }
    return [...(founding ? [founding] : []), ...steps]
  })
}

/** Returns the step that creates the first account, or null if there is one. @throws StartError */
async function planFounding(
  db: Database,
  services: Services,
  { setupCode }: Settings,
  { owner }: Declaration,
): Promise<Step | null> {
  if (await findTheWorkspace(db)) return null
  if (!owner) throw new StartError('The workspace has no owner yet: declare "owner", or register the first account.')
  const password = await readSecretOf(owner.passwordFile)
  return create('owner', owner.email, () =>
    services.registration.register({ email: owner.email, password, setupCode }, origin),
  )
}

async function contextOf(db: Database, services: Services, declaration: Declaration): Promise<ApplyContext> {
  const workspace = await findTheWorkspace(db)
  const page = { limit: maxMembers, after: null }
  const members = workspace ? await listMembers(db, workspace.id, page) : []
  const owner = members.find(({ member }) => member.own.role === 'OWNER' && member.own.access.all)
  if (!owner) throw new StartError('The workspace has no owner with access to all storages.')
  const sessionId = randomUUID()
  const { workspaceId } = owner.member
  const viewerOf = (userId: string) => services.credentials.recallMember({ workspaceId, userId, sessionId, origin })
  const viewer = await viewerOf(owner.member.userId)
  const providers = await services.providers.list(viewer)
  // A provider that will be connected gets its id then. Until then, its name stands for it.
  const providerIds = new Map((declaration.providers ?? []).map(({ name }) => [name, `new ${name}`] as const))
  return { services, viewer, declaration, providers, providerIds, members, accountIds: new Map(), viewerOf }
}

/** Compares the declaration with the workspace. The steps are in the order in which they can run. */
export async function plan(context: ApplyContext): Promise<Step[]> {
  return [
    ...(await planWorkspace(context)),
    ...(await planProviders(context)),
    ...planMembers(context),
    ...planServiceAccounts(context),
    ...(await planGroups(context)),
    ...(await planIssuers(context)),
    ...(await planQuotas(context)),
    ...(await planCopies(context)),
    ...(await planKeys(context)),
    ...(await planWebhooks(context)),
  ]
}

async function planWorkspace({ services, viewer, declaration: { workspace } }: ApplyContext): Promise<Step[]> {
  if (!workspace) return []
  const { name, registration, secondFactorRoles, scannedUploads } = await services.workspaces.get(viewer)
  const needing = workspace.secondFactorRoles && roles.filter(role => workspace.secondFactorRoles?.includes(role))
  const scanned = workspace.scannedUploads && uploadSources.filter(each => workspace.scannedUploads?.includes(each))
  const differing = [
    ...(workspace.name === undefined || workspace.name === name ? [] : [`name -> "${workspace.name}"`]),
    ...(workspace.registration === undefined || workspace.registration === registration
      ? []
      : [`registration ${registration} -> ${workspace.registration}`]),
    ...(needing === undefined || isDeepStrictEqual(needing, secondFactorRoles)
      ? []
      : [`second factor required of ${needing.join(', ') || 'nobody'}`]),
    ...(scanned === undefined || isDeepStrictEqual(scanned, scannedUploads)
      ? []
      : [`uploads scanned of ${scanned.join(', ') || 'nobody'}`]),
  ]
  if (differing.length === 0) return []
  return [change('workspace', differing.join(', '), () => services.workspaces.update(viewer, workspace))]
}
