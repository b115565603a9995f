package host
import ("testing";"time";"context";"github.com/kopf-wasm/kopf/host/prepare";"github.com/tetratelabs/wazero")
func TestTimes2(t *testing.T){
 w:=guestBytes(t); ctx:=context.Background()
 tm:=func(n string,f func()){s:=time.Now();f();t.Log(n,time.Since(s))}
 p,_:=prepare.Prepare(w,prepare.Limits{MemoryPages:4096})
 dir,_:=testCache()
 for i:=0;i<3;i++ {
 var c wazero.CompilationCache; var rt wazero.Runtime
 tm("cache",func(){c,_=openCache(dir)})
 tm("rt",func(){rt=wazero.NewRuntimeWithConfig(ctx,wazero.NewRuntimeConfig().WithCompilationCache(c).WithDebugInfoEnabled(false))})
 tm("host",func(){instantiateHost(ctx,rt)})
 tm("compile",func(){ _,err:=rt.CompileModule(ctx,p.Wasm); if err!=nil {t.Error(err)}})
 rt.Close(ctx); c.Close(ctx)
 }
}
