import { catalog } from './catalog.ts'

/** Groups and service accounts. */
export const texts = catalog('groups', {
  groups: 'Groups',
  group: 'Group',
  groupsHelp:
    'A group gives its role and its storages to each of its members, in addition to what they have themselves.',
  newGroup: 'New group',
  createGroup: 'Create group',
  loadingGroups: 'Loading the groups',
  noGroups: 'No groups yet.',
  members: 'Members',
  memberCount: (count: number) => (count === 1 ? '1 member' : `${count} members`),
  groupRights:
    'The members use the strongest of their roles in all of their storages and in those of the group. With “No access”, the group gives nothing.',
  selectStorageOrNone: 'Select at least one storage, or choose the role “No access”.',
  allOfWorkspace: 'Every storage in the workspace, including those added later.',
  deleteGroupHelp:
    'Its members stay in the workspace. They lose what only this group gives them, also in running transfers.',
  membersOf: (group: string) => `Members of ${group}`,
  loadingMembers: 'Loading the members',
  noMembers: 'The group has no members yet.',
  addMember: 'Add a member',
  chooseMember: 'Member',
  everybodyIn: 'All members that are loaded are in this group.',
  add: 'Add',
  inGroups: (names: string) => `In ${names}`,
  fromGroups: (names: string) => `This includes what these groups give: ${names}.`,
  removeFrom: (name: string, group: string) => `Remove ${name} from ${group}`,

  serviceAccounts: 'Service accounts',
  serviceAccount: 'Service account',
  serviceAccountsHelp:
    'A service account is a member that is a program. It cannot sign in. Its API keys keep working when the person who created them leaves.',
  newAccount: 'New service account',
  createAccount: 'Create service account',
  accountNameHelp: 'For example, the name of the program.',
  loadingAccounts: 'Loading the service accounts',
  noAccounts: 'No service accounts yet.',
  removeAccountHelp: 'Its API keys stop working immediately, and its shares and schedules end. This cannot be undone.',
  keysOfAccount: 'API keys of this service account let a program use Stowage with the rights of the account.',
  allOfAccount: 'Every storage that the service account can access, including those added later.',
})
