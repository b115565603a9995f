package host
import ("testing";"time";"context";"github.com/kopf-wasm/kopf/host/prepare")
func TestTimes(t *testing.T){
 w:=guestBytes(t); ctx:=context.Background()
 tm:=func(n string,f func()){s:=time.Now();f();t.Log(n,time.Since(s))}
 tm("inspect",func(){prepare.Inspect(w)})
 var p *prepare.Prepared
 tm("prepare",func(){p,_=prepare.Prepare(w,prepare.Limits{MemoryPages:4096})})
 tm("prepare",func(){p,_=prepare.Prepare(w,prepare.Limits{MemoryPages:4096})})
 t.Log(len(w),len(p.Wasm),p.Globals,p.Cloneable,p.MinPages,len(p.Data))
 tm("validate",func(){validateOriginal(ctx,w,4096)})
 var m *Module
 tm("cold",func(){m,_=Load(ctx,"x",w,withCache(t,Options{}))})
 m.Close(ctx)
 tm("warm",func(){m,_=Load(ctx,"x",w,withCache(t,Options{}))})
 for i:=0;i<3;i++{
 tm("first start",func(){ tk,_,_:=m.Start(ctx,invoke("count"),nil,&testEnv{}); tk.Release(ctx)})}
 s:=time.Now(); n:=2000
 for i:=0;i<n;i++{ tk,_,_:=m.Start(ctx,invoke("count"),nil,&testEnv{}); tk.Release(ctx)}
 t.Log("per start", time.Since(s)/time.Duration(n))
 for i:=0;i<4;i++{ tm("new instance",func(){in:=m.newInstance(); in.busy<-struct{}{}; if err:=in.create(ctx);err!=nil{t.Error(err)}; in.close()})}
 m.Close(ctx)
}
