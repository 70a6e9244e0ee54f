import { attackBackEnd } from './attack-back-end.ts'
import { ftp } from './back-ends.ts'
import { namesOthersGive } from './corpus.ts'

// A listing has one name in each line.
attackBackEnd('FTP', ftp, { every: 4, names: namesOthersGive.filter(name => !/[\r\n]/.test(name)) })
