import type { ApplyContext } from './context.ts'
import { planKeys, planMembers } from './people.ts'
import { planProviders } from './providers.ts'
import { change, type Step } from './step.ts'
import { planWebhooks } from './webhooks.ts'

/** Compares the declaration with the workspace. The steps are in the order in which they can run. */
export async function plan(context: ApplyContext): Promise<Step[]> {
  return [
    ...(await planWorkspace(context)),
    ...(await planProviders(context)),
    ...planMembers(context),
    ...(await planKeys(context)),
    ...(await planWebhooks(context)),
  ]
}

async function planWorkspace({ services, viewer, declaration: { workspace } }: ApplyContext): Promise<Step[]> {
  if (!workspace) return []
  const { name, registration } = await services.workspaces.get(viewer)
  const differing = [
    ...(workspace.name === undefined || workspace.name === name ? [] : [`name -> "${workspace.name}"`]),
    ...(workspace.registration === undefined || workspace.registration === registration
      ? []
      : [`registration ${registration} -> ${workspace.registration}`]),
  ]
  if (differing.length === 0) return []
  return [change('workspace', differing.join(', '), () => services.workspaces.update(viewer, workspace))]
}
