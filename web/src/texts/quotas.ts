import { catalog } from './catalog.ts'

export const texts = catalog('quotas', {
  quota: 'Quota',
  ownQuota: 'Your quota',
  quotaOfFiles: 'Quota of files',
  usedBytes: (used: string, limit: string) => `Quota: ${used} of ${limit} used`,
  usedFiles: (used: string, limit: string) => `Quota: ${used} of ${limit} files`,
  notExact: 'What existed before the quota is still being counted.',
  quotaTitle: (name: string) => `Quota of “${name}”`,
  quotaHelp:
    'Uploads that would exceed the quota are refused. The trash and earlier versions count. A lower quota deletes nothing.',
  memberQuotaHelp:
    'Counts the files that the member has created in all storages, until somebody deletes or replaces them. Their trash and earlier versions count.',
  noQuota: 'None',
  setQuota: 'Set quota',
  gigabytes: 'Gigabytes',
  maxFiles: 'Files',
  noLimit: 'Empty for no limit.',
  wrongNumber: 'Enter a number, such as 50 or 0.5.',
  wrongCount: 'Enter a whole number.',
})
