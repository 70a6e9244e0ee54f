/** Lets a call wait for the approval of a person, if the workspace requires it. */
import { authorize, type InputOf, type Need } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { ApprovalKind } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import type { FileEntry } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'

/** The facts that a tool uses, besides its arguments. */
export interface ToolContext {
  readonly services: Services
  readonly viewer: Viewer
  /** Aborts when the client disconnects, which is how a client cancels a call. */
  readonly signal: AbortSignal
}

export interface ApprovalRule<Input> {
  kind: ApprovalKind
  /** Returns the location of what a call removes or replaces; null for a call that does neither. */
  at(input: Input): { providerId: string; path: string } | null
  /** Returns the call for the case that nothing is there, so that it never replaces what appears meanwhile. */
  asNew?(input: Input): Input
}

interface ApprovableTool<Input> {
  name: string
  needs: readonly Need[]
  approval?: ApprovalRule<Input>
}

/**
 * Resolves when a call may begin, with the rights that the viewer has then.
 * @throws APPROVAL_PENDING, APPROVAL_REFUSED, TOO_MANY_APPROVALS; as `authorize`, and as `Files.stat` for a deletion
 */
export async function untilApproved<Input extends object>(
  { name, needs, approval }: ApprovableTool<Input>,
  input: Input,
  context: ToolContext,
): Promise<{ input: Input; context: ToolContext }> {
  const location = approval?.at(input) ?? null
  const { services, viewer, signal } = context
  if (!approval || !location || !(await services.approvals.required(viewer)).includes(approval.kind)) {
    return { input, context }
  }
  const find = (by: Viewer) => services.files.stat(by, location, signal)
  const entry = await (approval.asNew ? unlessMissing(find(viewer)) : find(viewer))
  if (!entry) return { input: approval.asNew?.(input) ?? input, context }
  const call = { kind: approval.kind, tool: name, args: input, entry }
  const present = await services.approvals.wait(viewer, call, find, signal)
  authorize(present, needs, input as InputOf<typeof needs>)
  return { input, context: { ...context, viewer: present } }
}

async function unlessMissing(finding: Promise<FileEntry>): Promise<FileEntry | null> {
  try {
    return await finding
  } catch (error) {
    if (error instanceof AppError && error.reason === 'NOT_FOUND') return null
    throw error
  }
}
